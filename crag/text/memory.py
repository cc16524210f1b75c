"""What this process remembers of texts beside the records, to save time, and the one place where a deletion ends it.

Every cache, link and value that may hold words of a document or a run is registered here (`tests/house/test_memory.py`
finds one that is not). What was not deleted is made again when it is needed.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Collection
from functools import lru_cache
from types import MethodType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
Forget = Callable[[Collection[str]], object]
"""Takes the ids of the runs and documents, or the name of the library, that were deleted, and keeps nothing of them."""

_holders: list[Callable[[], Forget | None]] = []
_lock = threading.Lock()


def on_deletion(forget: Forget) -> Forget:
    """Call this after each deletion in this process; a method, as long as its object lives. A decorator too."""
    with _lock:
        _holders[:] = [each for each in _holders if each() is not None]
        _holders.append(weakref.WeakMethod(forget) if isinstance(forget, MethodType) else lambda: forget)
    return forget


def remember(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`functools.lru_cache` for a function of texts: a deletion empties it."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(most)(function)
        on_deletion(lambda gone: cached.cache_clear())
        return cast(Callable[P, T], cached)

    return remembering


def forget(gone: Collection[str]) -> None:
    """These runs, documents or libraries were deleted."""
    re.purge()  # patterns of names and words of a text stay in Python's own cache
    with _lock:
        holders = [found for each in _holders if (found := each()) is not None]
    for each in holders:
        each(gone)
