"""A query that waits for approval before it leaves this machine: what it is, and what became of it."""

from __future__ import annotations

from crag.core.trace import Approval, Trace
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html


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


def outcome_text(approval: Approval) -> str:
    """What became of one question, in the record; nothing while it waits in a run under way."""
    if approval.approved:
        return "You approved this query."
    if approval.approved is False:
        return "Not approved, so nothing was sent."
    return "The run ended before you answered, so nothing was sent."
