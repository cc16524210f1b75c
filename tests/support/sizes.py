"""How much a test does: a sample of it in `make test`, all of it later."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import cycle

import pytest

ALL = bool(os.environ.get("TEST_ALL"))


def sized(whole: int, few: int) -> int:
    """`whole` in `make test-all`, which sets TEST_ALL, else `few`: of examples, kills, worlds, lines."""
    return whole if ALL else few


def thinned(cases: Iterable[object], every: int) -> list[object]:
    """The cases of a table, of which `make test` takes each `every`th, and the others are slow."""
    marks: list[tuple[pytest.MarkDecorator, ...]] = [(), *[(pytest.mark.slow,)] * (every - 1)]
    return [pytest.param(case, marks=mark) for case, mark in zip(cases, cycle(marks), strict=False)]
