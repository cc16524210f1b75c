"""The way between pages."""

from __future__ import annotations

import streamlit as st

from ui.app import tab


def wanted() -> str:
    """The page that a click led to, once; "" for none."""
    found, tab.page().wanted = tab.page().wanted, ""
    return found


def go(page: str) -> None:
    """Lead to another page with the next run of the script: what was a click on a button here opens it."""
    tab.page().wanted = page


def name(**shown: str | None) -> None:
    """Let the address name these, or none; what it says already is not sent again."""
    for what, id in shown.items():
        if id is None:
            st.query_params.pop(what, None)
        elif st.query_params.get(what) != id:
            st.query_params[what] = id
