"""The style sheet, and raw HTML that ui's own drawing functions made."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

__all__ = ["ASSETS", "apply", "draw", "sheet"]

ASSETS = Path(__file__).parent / "assets"


@cache
def sheet() -> str:
    return (ASSETS / "style.css").read_text(encoding="utf-8")


_UNHEARD = "html:not([data-heard]) .cx [data-pick] { visibility: hidden; }"
"""What could be clicked is not there before clicks are heard: see picker.js."""


def apply() -> None:
    """Give the page its style sheet."""
    st.html(f"<style>{sheet()}{_UNHEARD}</style>")


def draw(html: str, where: Any = None) -> None:
    """Show what a drawing function returned, in a slot if one is given; nothing for nothing."""
    place = where if where is not None else st
    if html:
        place.html(html)
    elif where is not None:
        where.empty()
