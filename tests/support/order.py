"""Which test files begin first: those that take long, longest first."""

from __future__ import annotations

LONG: tuple[str, ...] = ()


def begun_first(file: str) -> int:
    """The place of a file among all: the long ones in their order, then the others as they come."""
    return LONG.index(file) if file in LONG else len(LONG)
