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


def name_run(run: str | None) -> None:
    """Let the address name this run, or none; what it says already is not sent again."""
    if run is None:
        st.query_params.pop("run", None)
    elif st.query_params.get("run") != run:
        st.query_params["run"] = run
