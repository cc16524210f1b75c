"""What the Tune page worked out, kept until what it was made from changes: for all sessions that look at the same."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

T = TypeVar("T")
_KEPT = 8
"""So many values are kept under each name, the latest used: as many people may look at different libraries."""


@dataclass
class _Store:
    kept: dict[str, deque[tuple[Hashable, Any]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@st.cache_resource(show_spinner=False)
def _of_the_process() -> _Store:
    return _Store()


def cached(name: str, key: Hashable, make: Callable[[], T]) -> T:
    """The value that `make` gave for this key, whoever asked; made anew where it is among the last no more.

    Nobody changes it. The key names all that it was made from, of whose library it is among them.
    """
    store = _of_the_process()
    with store.lock:
        kept = store.kept.setdefault(name, deque(maxlen=_KEPT))
        for each in kept:
            if each[0] == key:
                found: T = each[1]
                return found
    made = make()
    with store.lock:
        kept.appendleft((key, made))
    return made


def for_this_session(name: str, key: Hashable, make: Callable[[], T]) -> T:
    """The same for this session alone: what it marks as its sliders stand."""
    kept: dict[str, tuple[Hashable, Any]] = st.session_state.setdefault("tune-made", {})
    if name not in kept or kept[name][0] != key:
        kept[name] = key, make()
    found: T = kept[name][1]
    return found
