"""What one browser tab holds in the process's memory, weighed: most of it for files on their way, a part for runs."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TypeVar

T = TypeVar("T")
_MB = 2**20
_RUNS = 10
"""The runs that a tab has looked at may take one part in so many of what it may hold, its files the rest."""
_CODE = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)
_MOST = 200_000
"""Objects that are weighed; a value with more is far too heavy in any case."""


def for_runs(session_mb: int) -> int:
    """Bytes for the runs that a tab has looked at; 0: no limit."""
    return session_mb * _MB // _RUNS


def for_files(session_mb: int) -> int:
    """Bytes for its files on their way; 0: no limit."""
    return session_mb * _MB - for_runs(session_mb)


def weight(value: object) -> int:
    """Bytes that a value takes with all that it refers to, code left out."""
    seen, waiting, total = set[int](), [value], 0
    while waiting and len(seen) < _MOST:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, _CODE):
            seen.add(id(each))
            total += sys.getsizeof(each)
            waiting.extend(gc.get_referents(each))
    return total


def drop_oldest(kept: dict[str, T], weights: dict[str, int], most: int, room: int) -> None:
    """So many values at most, and together no more bytes than there is `room`, 0: any; the latest stays in any case.

    `weights` holds what each was weighed with, once.
    """
    for old in list(kept)[:-most]:
        del kept[old]
    for gone in weights.keys() - kept.keys():
        del weights[gone]
    for name in kept.keys() - weights.keys():
        weights[name] = weight(kept[name])
    for old in list(kept)[:-1]:
        if not room or sum(weights.values()) <= room:
            return
        del kept[old], weights[old]
