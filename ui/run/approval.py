"""A query that waits for its person's word before it leaves this machine: the question on screen, and the record."""

from __future__ import annotations

import streamlit as st

from crag.core.events import Event
from crag.core.trace import Trace
from crag.export.html.marks import approval_card, pending_question
from crag.runtime.jobs import Job
from ui.app import clicks
from ui.app.session import Session
from ui.components.drawing import draw


def ask(session: Session, job: Job[Event] | None, trace: Trace, scope: str = "") -> None:
    """The card with its two buttons, where the run waits. An answer reaches the run from any tab, once.

    Nothing without a `job`: who is there may not answer. `scope` tells the cards of several runs on one page apart.
    """
    number = pending_question(trace)
    if job is None or not number:
        return
    if job.answered(number) or job.stopping:
        draw(approval_card(trace, sending=job.answered(number)))
        return
    with st.container(key=f"approval{scope}"):
        draw(approval_card(trace))
        with st.container(horizontal=True, gap="small"):
            given = session, job.id, number
            clicks.button("Send it", f"send-{number}{scope}", clicks.answer, *given, True, type="primary")
            st.button("Don't send", key=f"keep-{number}{scope}", on_click=clicks.answer, args=(*given, False))
