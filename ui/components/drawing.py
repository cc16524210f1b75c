"""The style sheet, and the one way by which HTML reaches a page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit as st

from crag.export.html.elements import Html, Tag, asset, fragment
from crag.export.html.safe_text import markdown

ASSETS = Path(__file__).parent / "assets"
"""The app's icons, and what hears clicks."""


@cache
def asset_text(name: str) -> str:
    """A script or style sheet of the app's own."""
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _in_one_line(name: str) -> Html:
    """A style sheet for a page: Streamlit looks at every line of what it draws, with each run of the script."""
    lines = re.sub(r"/\*.*?\*/", "", asset(name), flags=re.DOTALL).splitlines()
    return Html(" ".join(filter(None, (line.strip() for line in lines))))


_UNHEARD = Html("html:not([data-heard]) .cx [data-pick] { visibility: hidden; }")
"""What could be clicked is not there before clicks are heard: see picker.js."""


@cache
def _page_style() -> Html:
    return Html("<style>{}{}</style>").format(_in_one_line("style.css"), _UNHEARD)


def apply_style() -> None:
    """Give the page its style sheet."""
    st.html(_page_style())


def apply_more(name: str) -> None:
    """Give the page another style sheet of the program's own."""
    st.html(Html("<style>{}</style>").format(_in_one_line(name)))


def heading(name: str, about: str = "") -> None:
    """The heading of a section, with what is to be said of it beside it in small type."""
    st.header(f"{markdown(name)} :small[:gray[{markdown(about)}]]" if about else markdown(name), anchor=False)


def draw(html: Html | Tag | None) -> None:
    """Show what a drawing function returned; nothing for nothing. Other text is escaped."""
    if made := fragment(html):
        st.html(made)
