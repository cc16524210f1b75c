"""How much a test does: a sample of it in `make test`, all of it in `make test-all`, which sets TEST_ALL."""

from __future__ import annotations

import os

ALL = bool(os.environ.get("TEST_ALL"))


def sized(whole: int, few: int) -> int:
    """`whole` where everything is tested, else `few`: of examples, kills, worlds, lines."""
    return whole if ALL else few
