"""The style sheet, and the one way by which HTML reaches a page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.kit.html import Html, Tag, fragment

ASSETS = Path(__file__).parent / "assets"


@cache
def stylesheet() -> Html:
    return Html((ASSETS / "style.css").read_text(encoding="utf-8"))


_UNHEARD = Html("html:not([data-heard]) .cx [data-pick] { visibility: hidden; }")
"""What could be clicked is not there before clicks are heard: see picker.js."""


def apply_style() -> None:
    """Give the page its style sheet."""
    st.html(Html("<style>{}{}</style>").format(stylesheet(), _UNHEARD))


def draw(html: Html | Tag | None, where: Any = None) -> None:
    """Show what a drawing function returned, in a slot if one is given; nothing for nothing. Other text is escaped."""
    place = where if where is not None else st
    if made := fragment(html):
        place.html(made)
    elif where is not None:
        where.empty()
