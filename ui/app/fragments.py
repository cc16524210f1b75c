"""Parts of a page that run without the rest of it: at a touch within them, or again and again while a job works."""

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

_BEAT = 0.25
"""Seconds between two drawings of what goes on."""


def alone(draw: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """`draw` as a fragment of the page: given what it was given by the last run of the whole script.

    Whether the person here may still be here is asked each time. What fails is shown in its place, and ends the run.
    """
    return st.fragment(_guarded(draw))


def follow(presence: Presence, goes_on: Callable[[], bool], draw: Callable[[], None], every: float = _BEAT) -> None:
    """Draw what goes on, again every `every` seconds as long as it does; then the whole page, with how it ended.

    The browser asks for each drawing, and for none once the page is another. A touch of the page meanwhile harms
    nothing; a callback of the page may then be called twice, see `clicks.once`. What fails is shown as `alone` does.
    """

    def drawn(presence: Presence) -> None:
        if not goes_on():
            # Streamlit keeps one wish for a page, the last: here a click on another page is heard before ours.
            st.empty()
            st.rerun()
        draw()

    st.fragment(_guarded(drawn), run_every=every)(presence)


def _guarded(draw: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    @wraps(draw)
    def drawn(presence: S, /, *args: P.args, **given: P.kwargs) -> None:
        gc_scheduler.note_run()
        with problems.reported(stop=True):
            presence.entered  # noqa: B018  raises where nobody may be here any more
            draw(presence, *args, **given)

    return drawn
