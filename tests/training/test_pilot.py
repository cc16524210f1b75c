"""The pilot: a body stops when its processor time is used, goes on where it was left, and the table is in order."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="training's own requirements are not installed")
pytest.importorskip("onnx", reason="training's own requirements are not installed")

from training import pilot  # noqa: E402


class Counted:
    """Stands in for a run: each step takes a second of processor time, on a clock of its own."""

    def __init__(self, clock: list[float], used: float = 0.0, ends: int = 10**6) -> None:
        self.kept, self.halted, self.step = {pilot.USED: used}, False, 0
        self.clock, self.ends = clock, ends

    def steps(self) -> Iterator[int]:
        while not self.halted:
            self.step += 1
            self.clock[0] += 1.0
            self.halted = self.step >= self.ends
            yield self.step


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [500.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    return now


def test_a_body_is_trained_for_its_time_over_all_of_its_legs(clock: list[float]) -> None:
    run = Counted(clock)
    pilot.train_for(run, 10.0)
    assert run.step == 10 and not run.halted
    again = Counted(clock, used=run.kept[pilot.USED])
    pilot.train_for(again, 10.0)
    assert again.step == 0
    pilot.train_for(again, 12.0)
    assert again.step == 2


def test_a_body_that_was_ended_early_is_not_done(clock: list[float]) -> None:
    run = Counted(clock, ends=3)
    pilot.train_for(run, 10.0)
    assert run.step == 3 and run.halted


def test_the_table_begins_with_the_best() -> None:
    line = {"step": 5, "pairs": 9, pilot.USED: 60, "same document": 0.7, "ms a pair": 3.0}
    rows = pilot.format_table({"minilm": {**line, "mean": 0.8}, "e5-6": {**line, "mean": 0.9}}).split("\n")
    assert [row.split(" | ")[0].strip("| ") for row in rows] == ["body", "---", "e5-6", "minilm"]
