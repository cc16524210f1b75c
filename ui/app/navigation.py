"""The way between pages, each of which leads through `app.py` first.

Until `app.py` has run once in a process, Streamlit takes each file of `pages/` for an app of its own, without the app's
style and navigation.
"""

from __future__ import annotations

import streamlit as st

from ui.app import session_reset

_OPEN, _WANTED, _ADDRESS = "entry-open", "entry-wanted", "entry-address"


def wanted() -> str:
    """Called by `app.py`: it has run now; the page that somebody was sent away from, if there is one."""
    st.session_state[_OPEN] = True
    page: str = st.session_state.pop(_WANTED, "")
    return page


def go(page: str) -> None:
    """Lead to another page with the next run of the script: what was a click on a button here opens it."""
    st.session_state[_WANTED] = page


def enter(page: str) -> None:
    """Called by each page, first of all: goes to `app.py` where that has not run, and comes back from there.

    What the address said beside the page's name is not lost on the way.
    """
    session_reset.note()
    if _OPEN not in st.session_state:
        st.session_state[_WANTED] = page
        st.session_state[_ADDRESS] = (page, st.query_params.to_dict())
        st.switch_page("app.py")
    whose, said = st.session_state.pop(_ADDRESS, ("", {}))
    if whose == page:
        st.query_params.from_dict({**said, **st.query_params.to_dict()})
    session_reset.show()


def name_run(run: str | None) -> None:
    """Let the address name this run, or none; what it says already is not sent again."""
    if run is None:
        st.query_params.pop("run", None)
    elif st.query_params.get("run") != run:
        st.query_params["run"] = run
