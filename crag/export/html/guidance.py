"""Under an answer that there is none: what came near, and the web."""

from __future__ import annotations

from crag.core.events import Guidance, Near
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt
from crag.messages.answers import nearest_sentence, web_text


def panel(trace: Trace, *, web: bool | None = None, live: bool = True) -> Html:
    """The help of a run; nothing where there is none. `live`: what can be clicked is a button.

    `web`: whether a web provider is on now; None: as it was when the run was made.
    """
    guidance = trace.guidance
    if guidance is None:
        return Html()
    on = guidance.web if web is None else web
    near = nearest_sentence(trace) and _near(guidance.near[0], live=live)
    return h.div("cx")[h.div("guide")[near, h.h3["The web"], _web(trace, guidance, on=on, live=live)]]


def _near(near: Near, *, live: bool) -> Html:
    box = h.button("pick", data_pick=f"chunk:{near.chunk_id}") if live else h.div("pick")
    place = h.span("small")[f"{near.where} {excerpt(near.source, 120)}"]
    return h.fragment(h.h3["Closest passage"], box[near.quote, place])


def _web(trace: Trace, guidance: Guidance, *, on: bool, live: bool) -> Html:
    offered = on and live and trace.finished and not trace.searches
    return h.fragment(
        h.p("small")[web_text(trace, on=on), " ", h.span("query")[guidance.query]],
        h.p[h.button("pick", data_pick="web:")["Search the web for this"]] if offered else "",
    )
