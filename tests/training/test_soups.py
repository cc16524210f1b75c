"""Averages of weights, and what chooses among them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

pytest.importorskip("torch", reason="training's own requirements are not installed")

from training.soups import choose_shares


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
