"""How much a test does: a sample of it in `make test`, all of it later."""

import os
from collections.abc import Iterable
from itertools import cycle

import pytest

ALL = bool(os.environ.get("TEST_ALL"))


def sized(whole: int, few: int) -> int:
    """`whole` in `make test-all`, which sets TEST_ALL, else `few`: of examples, kills, worlds, lines."""
    return whole if ALL else few


def thinned(cases: Iterable[object], every: int) -> list[object]:
    """The cases of a table, of which `make test` takes each `every`th, and the others are slow; a tuple is a row."""
    marks: list[tuple[pytest.MarkDecorator, ...]] = [(), *[(pytest.mark.slow,)] * (every - 1)]
    rows = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*row, marks=mark) for row, mark in zip(rows, cycle(marks), strict=False)]
