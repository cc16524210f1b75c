"""The style sheet, and the one way by which HTML reaches a page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.kit.html import Html, Tag, fragment

ASSETS = Path(__file__).parent / "assets"


def stylesheet() -> Html:
    """What every page is drawn with."""
    return asset("style.css")


@cache
def asset(name: str) -> Html:
    """A style sheet or script of the program's own, by its file's name."""
    return Html((ASSETS / name).read_text(encoding="utf-8"))


_UNHEARD = Html("html:not([data-heard]) .cx :is([data-pick], [data-copy]) { visibility: hidden; }")
"""What could be clicked is not there before clicks are heard: see picker.js."""


def apply_style() -> None:
    """Give the page its style sheet."""
    st.html(Html("<style>{}{}</style>").format(stylesheet(), _UNHEARD))


def apply_more(name: str) -> None:
    """Give the page another style sheet of the program's own."""
    st.html(Html("<style>{}</style>").format(asset(name)))


def draw(html: Html | Tag | None, where: Any = None) -> None:
    """Show what a drawing function returned, in a slot if one is given; nothing for nothing. Other text is escaped."""
    place = where if where is not None else st
    if made := fragment(html):
        place.html(made)
    elif where is not None:
        where.empty()
