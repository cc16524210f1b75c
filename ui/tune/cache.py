"""What the Tune page worked out, kept as long as what it was made from: for all sessions that look at the same."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Hashable
from typing import Any, TypeVar

from crag.text import memory

T = TypeVar("T")
_KEPT = 8
"""So many values are kept under each name, the latest used: as many people may look at different libraries."""


_kept: dict[str, deque[tuple[weakref.ref[Any], Hashable, Any]]] = {}
_lock = threading.Lock()


@memory.on_deletion
def _empty(gone: Collection[str]) -> None:
    with _lock:
        _kept.clear()


def cached(name: str, of: object, key: Hashable, make: Callable[[], T]) -> T:
    """The value that `make` gave for this key; made again where it is among the last no more.

    Nobody changes it. `of`: the object that it was made from; the value goes with it, so it must not hold it. `key`:
    all else that it was made from.
    """
    with _lock:
        for made_from, known, value in _kept.get(name, ()):
            if made_from() is of and known == key:
                found: T = value
                return found
    made = make()
    with _lock:
        # What was made from things that are gone goes: runs as they were before one was asked.
        for each, kept in _kept.items():
            _kept[each] = deque((one for one in kept if one[0]() is not None), maxlen=_KEPT)
        _kept.setdefault(name, deque(maxlen=_KEPT)).appendleft((weakref.ref(of), key, made))
    return made
