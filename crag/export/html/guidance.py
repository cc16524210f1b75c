"""Under an answer that there is none: what came near, and the web."""

from __future__ import annotations

from crag.core.events import Guidance, Near
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt
from crag.messages.answers import nearest_sentence, web_text


def panel(trace: Trace, *, live: bool = True) -> Html:
    """The help of a run; nothing where there is none. `live`: what came near is a button, and the web has one beside
    it, so that nothing is said of it.
    """
    guidance = trace.guidance
    near = guidance is not None and nearest_sentence(trace) and _near(guidance.near[0], live=live)
    web = guidance is not None and not live and _web(trace, guidance)
    return h.div("cx")[h.div("guide")[near, web]] if near or web else Html()


def _near(near: Near, *, live: bool) -> Html:
    box = h.button("pick", data_pick=f"chunk:{near.chunk_id}") if live else h.div("pick")
    place = h.span("small")[f"{near.where} {excerpt(near.source, 120)}"]
    return h.fragment(h.h3["Closest passage"], box[near.quote, place])


def _web(trace: Trace, guidance: Guidance) -> Html:
    said = web_text(trace, on=guidance.web)
    return h.fragment(h.h3["The web"], h.p("small")[said, " ", h.span("query")[guidance.query]])
