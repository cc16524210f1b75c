"""What was asked in place of a follow-up question, and what it took over from the conversation."""

from __future__ import annotations

from crag.core.makers import name_in_sentence
from crag.core.trace import Trace
from crag.messages.wording import context_text
from ui.components import html as h
from ui.components.html import Html


def asked_as(trace: Trace) -> Html:
    """The question in effect, and where it comes from; nothing of a question that was asked as typed."""
    if trace.context is None or not trace.standalone:
        return Html()
    return h.div("asked-as")[
        h.div[h.span("tag")["Asked as"], " ", h.span("as")[trace.standalone]],
        h.div("small")[context_text(trace.context, name_in_sentence)],
    ]
