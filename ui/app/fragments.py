"""Parts of a page that run without the rest of it: at a touch within them, or again and again while a job works."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import streamlit as st

from ui.access.current import Presence
from ui.components import problems

P = ParamSpec("P")
S = TypeVar("S", bound=Presence)

_BEAT = 0.25
"""Seconds between two drawings of what goes on."""
_following: ContextVar[bool] = ContextVar("following", default=False)
"""Whether what is drawn now is followed."""


def alone(draw: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """`draw` as a fragment of the page: given what it was given by the last run of the whole script.

    Whether the person here may still be here is asked each time. What fails is shown in its place, and ends the run.
    Within what is followed it is no fragment. When a drawing begins, Streamlit drops what it has not yet sent of the
    drawing before, but keeps what fragments within it drew: on a busy machine the page then gets elements without the
    containers that they are in, and goes blank (seen with 1.67).
    """
    within, alone = _guarded(draw), st.fragment(_guarded(draw))

    @wraps(draw)
    def drawn(presence: S, /, *args: P.args, **given: P.kwargs) -> None:
        (within if _following.get() else alone)(presence, *args, **given)

    return drawn


def follow(presence: Presence, goes_on: Callable[[], bool], draw: Callable[[], object], every: float = _BEAT) -> None:
    """Draw what goes on, again every `every` seconds as long as it does; then the whole page, with how it ended.

    The browser asks for each drawing, and for none once the page is another. A touch of the page meanwhile harms
    nothing; a callback of the page may then be called twice, see `clicks.once`. What fails is shown as `alone` does.
    """

    def drawn(presence: Presence) -> None:
        if not goes_on():
            # Streamlit keeps one wish for a page, the last: here a click on another page is heard before ours.
            st.empty()
            st.rerun()
        before = _following.set(True)
        try:
            draw()
        finally:
            _following.reset(before)

    with st.container():  # of its own: what stands below it on the page keeps its place where a drawing is dropped
        st.fragment(_guarded(drawn), run_every=every)(presence)


def _guarded(draw: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    @wraps(draw)
    def drawn(presence: S, /, *args: P.args, **given: P.kwargs) -> None:
        with problems.reported(stop=True):
            presence.entered  # noqa: B018  raises where nobody may be here any more
            draw(presence, *args, **given)

    return drawn
