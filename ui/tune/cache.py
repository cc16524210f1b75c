"""What the Tune page worked out last, kept in the session until what it was made from changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

T = TypeVar("T")
_STORE = "tune-cache"


def cached(name: str, key: Hashable, make: Callable[[], T]) -> T:
    """The value that `make` gave for this key; made anew where the last one under this name had another key."""
    store: dict[str, tuple[Hashable, Any]] = st.session_state.setdefault(_STORE, {})
    if name not in store or store[name][0] != key:
        store[name] = key, make()
    found: T = store[name][1]
    return found
