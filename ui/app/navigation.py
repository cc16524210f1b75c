"""The way between pages."""

from __future__ import annotations

import streamlit as st

_WANTED = "entry-wanted"


def wanted() -> str:
    """The page that a click led to, once; "" for none."""
    page: str = st.session_state.pop(_WANTED, "")
    return page


def go(page: str) -> None:
    """Lead to another page with the next run of the script: what was a click on a button here opens it."""
    st.session_state[_WANTED] = page


def name_run(run: str | None) -> None:
    """Let the address name this run, or none; what it says already is not sent again."""
    if run is None:
        st.query_params.pop("run", None)
    elif st.query_params.get("run") != run:
        st.query_params["run"] = run
