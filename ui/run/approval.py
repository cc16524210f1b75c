"""A query that waits for its person's word before it leaves this machine: the question on screen, and the record."""

from __future__ import annotations

import streamlit as st

from crag.core.events import Event
from crag.core.trace import Approval, Trace
from crag.runtime.jobs import Job
from ui.app import clicks
from ui.app.session import Session
from ui.components import html as h
from ui.components import words
from ui.components.drawing import draw
from ui.components.html import Html


def pending(trace: Trace) -> int:
    """The number, from 1, of the question that the run waits with; 0 where it waits with none."""
    return len(trace.approvals) if trace.awaiting else 0


def refused(trace: Trace) -> bool:
    """Whether a query was shown and not approved."""
    return any(approval.approved is False for approval in trace.approvals)


def card(trace: Trace, *, sending: bool = False) -> Html:
    """The query that waits, exactly, and for whom; nothing where none waits. `sending`: the word was given."""
    asked = trace.awaiting
    if asked is None:
        return Html()
    lead = "Sending your answer…" if sending else "May this query leave this machine?"
    return h.div("cx")[
        h.div("approval", role="status")[
            h.p("says")[lead],
            h.p[h.span("query")[asked.query]],
            h.p("small")[
                "It would go to ",
                h.b[words.web(asked.provider)],
                ", and pages that it finds may then be opened. Nothing is sent until you approve. If you don't, the "
                "answer uses only what was found without it.",
            ],
        ]
    ]


def ask(session: Session, job: Job[Event] | None, trace: Trace, scope: str = "") -> None:
    """The card with its two buttons, where the run waits. An answer reaches the run from any tab, once.

    Nothing without a `job`: who is there may not answer. `scope` tells the cards of several runs on one page apart.
    """
    number = pending(trace)
    if job is None or not number:
        return
    if job.answered(number) or job.stopping:
        draw(card(trace, sending=job.answered(number)))
        return
    with st.container(key=f"approval{scope}"):
        draw(card(trace))
        with st.container(horizontal=True, gap="small"):
            given = session, job.id, number
            st.button(
                "Send it", key=f"send-{number}{scope}", type="primary", on_click=clicks.answer, args=(*given, True)
            )
            st.button("Don't send", key=f"keep-{number}{scope}", on_click=clicks.answer, args=(*given, False))


def outcome_text(approval: Approval) -> str:
    """What became of one question, in the record; nothing while it waits in a run under way."""
    if approval.approved:
        return "You approved this query."
    if approval.approved is False:
        return "Not approved, so nothing was sent."
    return "The run ended before you answered, so nothing was sent."
