"""The panel of coverage gaps: questions that the documents did not answer, with their runs."""

from __future__ import annotations

import streamlit as st

from crag.analysis.gaps import Gap, gaps
from crag.export.html import elements as h
from crag.export.html import words
from crag.messages.answers import origins_text
from ui.app import navigation, tables
from ui.app.clicks import once, requires
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw

_SHOWN = 10
"""So many gaps have a place of their own."""


def show(session: Session) -> None:
    """The panel, which looks for gaps once it is opened; nothing where no question was asked yet."""
    with problems.reported():
        if not session.library.runs.latest(1):
            return
        panel = st.expander(
            "Coverage gaps: questions that your documents did not answer", key="gaps-open", on_change="rerun"
        )
        if panel.open:
            with panel:
                _list(session)


def _list(session: Session) -> None:
    found = gaps(session.library)
    if not found:
        st.caption("None: recent questions to the whole library were all answered from the documents.")
    for number, gap in enumerate(found[:_SHOWN]):
        with st.container(border=True, key=f"gap-{number}"):
            draw(h.div("cx")[h.b[gap.question], h.p("small")[_times(gap)]])
            with st.container(horizontal=True, gap="small"):
                run = gap.runs[0]
                st.button("Open the run", key=f"gap-run-{number}", on_click=once(tables.show_run), args=(session, run))
                if session.may("ask"):
                    st.button("Ask again", key=f"gap-ask-{number}", on_click=once(_ask), args=(session, gap.question))
    if len(found) > _SHOWN:
        st.caption(f"And {len(found) - _SHOWN} more, asked less often or longer ago.")


def _times(gap: Gap) -> str:
    said = f"Asked {words.count(gap.asked, 'time')}, last {words.ago(gap.last)}"
    return f"{said}, {through}" if (through := origins_text(gap.vias)) else said


@requires("ask")
def _ask(session: Session, question: str) -> None:
    session.ask(question)
    navigation.go("ask")
