"""A tab that comes back to a program which does not know it any more: what it has lost is said, once."""

from __future__ import annotations

import streamlit as st

from ui.app import tab

_PROTOCOLS = "Sec-Websocket-Protocol"
"""Here a page that was open names the session that it had: "streamlit, …, the session"."""


def note() -> None:
    """Called in every run of the script, first of all: only in the first one of a session does it look."""
    if tab.page().returned is None:
        named = [each.strip() for each in (st.context.headers.get(_PROTOCOLS) or "").split(",")]
        tab.page().returned = len(named) > 2 and bool(named[2])


def returned() -> bool:
    """Whether this tab was open before its session: the server was restarted, or the tab was away for long."""
    return bool(tab.page().returned)


def show() -> None:
    """Says it, until a person has read it."""
    if not returned() or tab.page().read:
        return
    with st.container(key="returned"):
        st.info(
            "**Your session was reset:** the server restarted, or the tab was inactive too long. Documents, runs, "
            "labels and saved settings are safe. Settings moved only in this tab, its keys, and its conversation "
            "start again."
        )
        st.button("Close", key="close-returned", type="tertiary", on_click=_close)


def _close() -> None:
    tab.page().read = True
