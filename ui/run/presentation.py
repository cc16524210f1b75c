"""Scenes presented over the whole window; the address says so, so that they can be linked and survive a reload."""

from __future__ import annotations

import streamlit as st

from crag.export.html.elements import Html, asset
from ui.components.drawing import apply_more, draw

_KEY = "present"


def wanted() -> bool:
    """Whether the address asks for the presentation of what the page shows."""
    return _KEY in st.query_params


def enter() -> None:
    """From the next run of the script on, present what the page shows."""
    st.query_params[_KEY] = "1"


def follow(picked: str) -> bool:
    """End the presentation where that was clicked; whether it was."""
    if picked == "present:close":
        st.query_params.pop(_KEY, None)
    return picked == "present:close"


def show(slides: Html) -> None:
    """Draw slides as `show_slides` makes them, and listen to the keys that step through them."""
    apply_more("rail.css")
    apply_more("present.css")
    draw(slides)
    listener = st.components.v2.component("crag_present", js=_script(), isolate_styles=False)
    with st.container(key="presenter", height=1, border=False):
        listener(key="presenting")


def _script() -> str:
    """The shared script as a component's module: nothing is called with the page's runs."""
    return f"{asset('present.js')}\nexport default function () {{}}\n"
