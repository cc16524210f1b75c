"""What a browser tab remembers of a feature: one typed object each, beside the values of its widgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

T = TypeVar("T")


class LibraryState(ABC):
    """What is remembered of a feature and belongs to the library that the tab shows."""

    __slots__ = ()

    @abstractmethod
    def forget(self) -> None:
        """Keep nothing that names what is in the library."""


@dataclass(slots=True)
class ShownLibrary:
    """Which library the tab shows: its workspace, None before the first."""

    workspace: str | None = None


def tab_state(kind: type[T]) -> T:
    """The tab's only object of this kind, made where there is none yet; what is changed in it is remembered."""
    if not is_kept(kind):
        st.session_state[_key(kind)] = kind()
    found: T = st.session_state[_key(kind)]
    return found


def is_kept(kind: type) -> bool:
    """Whether the tab has an object of this kind."""
    return _key(kind) in st.session_state


def show_library(workspace: str) -> bool:
    """Show this workspace's library. Whether another was shown before, which each feature forgets then."""
    shown = tab_state(ShownLibrary)
    other = shown.workspace not in (None, workspace)
    shown.workspace = workspace
    for each in list(st.session_state.values()) if other else ():
        if isinstance(each, LibraryState):
            each.forget()
    return other


def _key(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"
