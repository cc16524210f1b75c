"""The rail on a page: drawn by the browser, which says where a hand has put its lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from crag.export.html.elements import asset


def draw_rail(key: str, data: Mapping[str, Any], moved: Callable[..., object]) -> None:
    """Draw what `crag.export.html.rail` describes; `moved` gets the `lower` and `upper` threshold of lines let go."""

    def keep() -> None:
        match getattr(st.session_state.get(key), "moved", None):
            case [of, int() | float() as lower, int() | float() as upper]:
                if of == data["run"] and 0 <= lower <= upper <= 100:
                    moved(lower=lower / 100, upper=upper / 100)

    style, script = str(asset("rail.css")), str(asset("rail.js"))
    draw = st.components.v2.component("crag_rail", css=style, js=script, isolate_styles=False)
    draw(key=key, data=data, on_moved_change=keep)
