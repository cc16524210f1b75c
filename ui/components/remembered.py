"""Streamlit's cache for what is made of a library, registered so that a deletion empties it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import streamlit as st

from crag.text import memory

P = ParamSpec("P")
T = TypeVar("T")


def remembered(**options: Any) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`st.cache_resource` with these options; nobody may change a value."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        cached = st.cache_resource(**{"show_spinner": False, **options})(function)
        memory.on_deletion(lambda gone: cached.clear())
        return cast(Callable[P, T], cached)

    return remembering
