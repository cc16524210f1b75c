"""Which browser tabs show which workspace, so that one workspace's do not take every place of the server."""

from __future__ import annotations

import threading
from collections.abc import Callable

import streamlit as st

from crag.export.html import elements as h
from crag.text.formats import count
from ui.app import open_tabs, tab
from ui.app.program import program
from ui.components.drawing import draw

_AGAIN = 5.0
"""Seconds between two looks of a tab that waits."""


class Tabs:
    """Thread-safe. `is_open` says whether a tab is open."""

    def __init__(self, is_open: Callable[[str], bool] = open_tabs.tabs.is_open) -> None:
        self._is_open = is_open
        self._workspaces: dict[str, str] = {}
        self._lock = threading.Lock()

    def enter(self, tab: str, workspace: str, most: int) -> int:
        """Gives the tab a place in the workspace: 0, or how many others are there where it has none; `most` 0: it has.

        A tab is in one workspace at a time.
        """
        with self._lock:
            self._workspaces = {id: name for id, name in self._workspaces.items() if id != tab and self._is_open(id)}
            others = sum(name == workspace for name in self._workspaces.values())
            if most and others >= most:
                return others
            self._workspaces[tab] = workspace
            return 0


def crowded(workspace: str) -> int:
    """0 where this tab has a place in the workspace, else how many others take all there are. Raises CragError."""
    had = tab.page().place == workspace
    most = 0 if had else program().engine.config.limits.library_sessions
    others = _tabs().enter(open_tabs.current(), workspace, most)
    if not others:
        tab.page().place = workspace
    return others


def wait(workspace: str, others: int) -> None:
    """In place of the page: says how many tabs there are, and looks again by itself."""
    tab.page().place = ""

    @st.fragment(run_every=_AGAIN)
    def looking() -> None:
        found = crowded(workspace)
        if not found:
            st.rerun()
        draw(
            h.div("cx hero")[
                h.p[h.b[f"This workspace is open in too many tabs ({count(found or others, 'other tab')})."]],
                h.p["Close one that you don't need, and this page opens by itself."],
            ]
        )

    looking()


@st.cache_resource(show_spinner=False)
def _tabs() -> Tabs:
    return Tabs()
