"""Under an answer that there is none: what came near."""

from __future__ import annotations

from crag.core.events import Near
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt
from crag.messages.answers import nearest_sentence


def panel(trace: Trace, *, live: bool = True) -> Html:
    """The passage that came nearest; nothing where none did, or the run has an answer. `live`: it is a button."""
    if trace.guidance is None or not nearest_sentence(trace):
        return Html()
    return h.div("cx")[h.div("guide")[_near(trace.guidance.near[0], live=live)]]


def _near(near: Near, *, live: bool) -> Html:
    box = h.button("pick", data_pick=f"chunk:{near.chunk_id}") if live else h.div("pick")
    place = h.span("small")[f"{near.where} {excerpt(near.source, 120)}"]
    return h.fragment(h.h3["Closest passage"], box[near.quote, place])
