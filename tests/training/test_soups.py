"""Averages of weights, and what chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from training.pair import Pair

pytest.importorskip("torch", reason="training's own requirements are not installed")

from training.soups import average, choose_shares, read_held_out, write_held_out
from training.weak_points import Met, WeakPoints


def test_states_count_by_their_shares() -> None:
    states = {name: {"up": np.full((2, 2), value, np.float32)} for name, value in (("a", 1.0), ("b", 5.0))}
    found = average(states, {"a": 0.75, "b": 0.25})
    assert found["up"].dtype == np.float32 and np.allclose(found["up"], 2.0)


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        ({"ships": 1.0}, {"ships": 1.0}),
        ({"x": 1.0}, {"x": 1.0}),
        ({"x": 0.5, "y": 0.5}, {"x": 0.5, "y": 0.5}),
        ({"ships": 0.5, "x": 0.5}, {"ships": 0.5, "x": 0.5}),
    ],
)
def test_the_shares_that_measure_best_are_chosen(best: dict[str, float], expected: dict[str, float]) -> None:
    def measure(shares: Mapping[str, float]) -> float:
        return -sum(abs(best.get(name, 0.0) - shares.get(name, 0.0)) for name in ("ships", "x", "y", "z"))

    assert choose_shares(["ships", "x", "y", "z"], measure) == pytest.approx(expected)


def test_what_is_held_out_travels_whole(tmp_path: Path) -> None:
    known = Pair("Who?", "Marta did.", 1.0, "g", "one", "Title", ((0, 5),), 0.5, 0.25, ((0, 10),))
    unknown = Pair("When?", "No.", 0.0, "g", "one", keeps=None)
    weak = WeakPoints([Met(known, (unknown,))], [Met(unknown, (known, known))])
    write_held_out({"one": [known, unknown]}, weak, tmp_path / "held.xz")
    sets, back = read_held_out(tmp_path / "held.xz")
    assert sets == {"one": [known, unknown]} and (back.same, back.found) == (weak.same, weak.found)
