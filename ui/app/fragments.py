"""A part of a page that a touch within it draws anew alone, without the rest of the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import streamlit as st

from ui.access.current import Presence
from ui.app import gc_scheduler
from ui.components import problems

P = ParamSpec("P")
S = TypeVar("S", bound=Presence)


def alone(draw: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """`draw` as a fragment of the page: given what it was given by the last run of the whole script.

    Whether whoever is here may still be here is asked each time. What fails is told in its place, and ends the run.
    """

    @st.fragment
    @wraps(draw)
    def drawn(presence: S, /, *args: P.args, **given: P.kwargs) -> None:
        gc_scheduler.note_run()
        with problems.reported(stop=True):
            presence.entered  # noqa: B018  raises where nobody may be here any more
            draw(presence, *args, **given)

    return drawn
