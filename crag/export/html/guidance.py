"""Under an answer that there is none: what came near, and the web."""

from __future__ import annotations

from crag.core.events import Guidance
from crag.core.trace import Trace
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt
from crag.messages.answers import against_text, near_text, web_text

_NAME = 120
"""Characters that are shown of a name."""


def panel(trace: Trace, *, web: bool | None = None, live: bool = True) -> Html:
    """The help of a run; nothing where there is none. `live`: what can be clicked is a button.

    `web`: whether a web provider is on now; None: as it was when the run was made.
    """
    guidance = trace.guidance
    if guidance is None:
        return Html()
    on = guidance.web if web is None else web
    head = near_text(trace)
    near = head and h.fragment(h.h3[head], _near(guidance, trace, live=live))
    return h.div("cx")[h.div("guide")[near, h.h3["The web"], _web(trace, guidance, on=on, live=live)]]


def _near(guidance: Guidance, trace: Trace, *, live: bool) -> Html:
    limits = trace.decision or trace.run_settings
    first, *others = [
        h.li[
            _clicked(f"chunk:{each.chunk_id}", live=live)[
                each.quote,
                h.span("small")[
                    f"{each.where} {excerpt(each.source, _NAME)} · ",
                    against_text(each.score, limits.upper, limits.lower),
                ],
            ]
        ]
        for each in guidance.near
    ]
    more = others and h.details("fold")[h.summary[f"{len(others)} more"], h.ul("turns")[others]]
    return h.fragment(h.ul("turns")[first], more)


def _web(trace: Trace, guidance: Guidance, *, on: bool, live: bool) -> Html:
    offered = on and live and trace.finished and not trace.searches
    return h.fragment(
        h.p("small")[web_text(trace, on=on), " ", h.span("query")[guidance.query]],
        h.p[h.button("pick", data_pick="web:")["Search the web for this"]] if offered else "",
    )


def _clicked(pick: str, *, live: bool) -> h.Tag:
    return h.button("pick", data_pick=pick) if live else h.div("pick")
