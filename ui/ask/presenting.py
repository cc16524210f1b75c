"""A run presented over the whole window; the address says so, so that it can be linked and survives a reload."""

from __future__ import annotations

import streamlit as st

from crag.core.errors import NotFoundError
from crag.export.html import slides
from crag.export.html.assets import asset
from crag.export.html.pictures import pictures
from ui.app.session import Session
from ui.components.drawing import apply_more, draw
from ui.run import pageview

_KEY = "present"


def wanted() -> bool:
    """Whether the address asks for the presentation of its run."""
    return _KEY in st.query_params


def enter() -> None:
    """From the next run of the script on, present the run that is selected."""
    st.query_params[_KEY] = "1"


def leave() -> None:
    """Back to the conversation."""
    st.query_params.pop(_KEY, None)


def show(session: Session, run: str) -> bool:
    """Present a finished run; False for one under way, and for none, of which the conversation says so.

    Raises CragError.
    """
    try:
        trace = session.trace(run)
    except NotFoundError:
        return False
    job = session.job(run)
    if job is not None and job.running:
        return False
    apply_more("present.css")
    draw(slides.show_slides(trace, pictures(session.library, trace, pageview.image), name=run, app=True))
    listener = st.components.v2.component("crag_present", js=_script(), isolate_styles=False)
    with st.container(key="presenter", height=1, border=False):
        listener(key="presenting")
    return True


def _script() -> str:
    """The shared script as a component's module: nothing is called with the page's runs."""
    return f"{asset('present.js')}\nexport default function () {{}}\n"
