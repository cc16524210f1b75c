"""The other turns of a conversation, a line each: a few round the selected one, more on demand.

A page costs the same after a thousand turns as after ten: what a line says is kept, and no record is read for a turn
that is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.core.errors import CragError
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.path import chip
from crag.export.html.safe_text import excerpt
from crag.messages.answers import brief_text
from ui.app import tab
from ui.app.clicks import once
from ui.app.session import MOST_TURNS, Session
from ui.app.tab import TurnLine
from ui.components.drawing import draw

_NEAR, _MORE = 6, 50
"""So many turns are shown before and after the selected one, and so many more by each click."""


def before(session: Session, run: str) -> None:
    """The turns before the selected one, oldest first, and a button for still earlier ones."""
    turns = session.turns[: session.turns.index(run)]
    shown = turns[max(0, len(turns) - _shown()) :]
    if hidden := len(turns) - len(shown):
        _further("earlier", hidden)
    elif len(session.turns) == MOST_TURNS:
        st.caption(f"The latest {MOST_TURNS:,} turns of this conversation. Those before them are in the history.")
    _draw(session, shown)


def after(session: Session, run: str) -> None:
    """The same of those after it."""
    turns = session.turns[session.turns.index(run) + 1 :]
    shown = turns[: _shown()]
    _draw(session, shown)
    if hidden := len(turns) - len(shown):
        _further("later", hidden)


def _shown() -> int:
    return _NEAR + tab.runs().more


def _further(which: str, hidden: int) -> None:
    label = f"Show {which} turns ({words.count(hidden, 'more', '')})"
    st.button(label, key=f"turns-{which}", type="tertiary", on_click=once(_widen))


def _widen() -> None:
    tab.runs().more += _MORE


def _draw(session: Session, turns: Sequence[str]) -> None:
    drawn = [_drawn(run, line) for run in turns if (line := _line(session, run))]
    if drawn:
        draw(h.div("cx")[h.div("turns")[drawn]])


def _drawn(run: str, line: TurnLine) -> Html:
    said = h.span("peek")[chip(line.action), f" {line.said}"]
    return h.button("turn", data_pick=f"run:{run}")[h.span("where")[line.question], said]


def _line(session: Session, run: str) -> TurnLine | None:
    """What is said of a turn: kept once it has ended; None of one that can't be read, which is forgotten."""
    kept = tab.runs().lines
    if len(kept) > MOST_TURNS:
        kept.clear()  # most are of turns that are listed no more; those that are shown are read again
    if run not in kept:
        try:
            trace = session.trace(run)
        except CragError:
            session.forget(run)
            return None
        if not trace.finished:
            return _line_of(trace)
        kept[run] = _line_of(trace)
    return kept[run]


def _line_of(trace: Trace) -> TurnLine:
    if trace.answer:
        said = brief_text(trace.answer) or trace.answer.text
    elif trace.handed_over:
        said = "evidence handed over"
    else:
        said = "no answer" if trace.finished else "working…"
    return TurnLine(trace.question, trace.action, excerpt(said, 140))
