"""Clicks on what is drawn (citations, chunks, earlier questions) as values for the script."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

__all__ = ["clicked"]

_SCRIPT = (Path(__file__).parent / "assets" / "picker.js").read_text(encoding="utf-8")


def clicked() -> str | None:
    """What was clicked since the last run of the script: the element's data-pick, or None.

    Of an element inside one with data-scope: "in:SCOPE:" and the data-pick. The value comes from the browser, so it is
    checked by whoever looks it up.
    """
    listener = st.components.v2.component("crag_picker", js=_SCRIPT, isolate_styles=False)
    with st.container(key="picker", height=1, border=False):
        result = listener(key="picked", on_pick_change=lambda: None)
    value = getattr(result, "pick", None)
    return value if isinstance(value, str) and len(value) < 300 else None
