"""A run as one page of HTML that replays it anywhere without this program: pre-drawn states, each piece kept once."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from crag.core import events as ev
from crag.core.trace import Trace
from crag.spending.prices import PRICES, Price
from ui.kit import html as h
from ui.kit import words
from ui.kit.drawing import ASSETS, stylesheet
from ui.kit.html import Html
from ui.run import answer, approval, evidence, guidance, meter, outdated, path

BUDGET = 1_200_000
"""Bytes that the states may take in a page; a longer run skips some of its moments."""

_CARDS = re.compile(r"(?=<details )|(?<=</details>)")
"""Where a section is cut into pieces: one graded chunk then renews one card and not the whole list."""


@dataclass(slots=True)
class _Pieces:
    """Every piece of HTML that a state is made of, once, found by its place."""

    known: dict[str, int] = field(default_factory=dict)

    def places(self, section: str) -> list[int]:
        return [self.known.setdefault(piece, len(self.known)) for piece in _CARDS.split(section) if piece]


def sections(
    trace: Trace, prices: Mapping[str, Price] = PRICES, stale: outdated.Stale = MappingProxyType({})
) -> list[Html]:
    """What a run looks like at one moment, from the question down to the meter with its costs at these prices.

    `stale`: what is out of date of documents when it is drawn.
    """
    view = replace(evidence.View.of(trace), stale=stale)
    return [
        answer.question(trace),
        approval.card(trace),
        path.path(trace),
        path.action(trace),
        answer.answer(trace),
        guidance.panel(trace, live=False),
        answer.sources(trace),
        outdated.note(trace, stale),
        evidence.chunks(trace, view),
        evidence.web(trace, view),
        meter.meter(trace, prices) if trace.finished else Html(),
    ]


def states(
    trace: Trace,
    events: Sequence[ev.Event],
    budget: int = BUDGET,
    prices: Mapping[str, Price] = PRICES,
    stale: outdated.Stale = MappingProxyType({}),
) -> Html:
    """JSON of `pieces` of HTML, and `frames`: what is shown (`parts`, the pieces of each section), when, and in words.

    `trace` is the run as a whole, which is the last frame. Where not even the first and the last fit into `budget`
    bytes, there are no frames.
    """
    moments, seen = [], Trace()
    for event in events:
        seen = seen.apply(event)
        moments.append((seen, event.at, _event_text(event)))
    end = (trace, moments[-1][1] if moments else trace.seconds, "the whole run")
    stride = 1
    while stride == 1 or stride < 2 * len(moments):
        made = _encoded(_drawn([*moments[::stride], end], prices, stale))
        if len(made.encode()) <= budget:
            return made
        stride *= 2
    return _encoded(_drawn([], prices, stale))


def _drawn(
    moments: Sequence[tuple[Trace, float, str]], prices: Mapping[str, Price], stale: outdated.Stale
) -> dict[str, Any]:
    pieces = _Pieces()
    frames: list[dict[str, Any]] = []
    for trace, at, said in moments:
        parts = [pieces.places(section) for section in sections(trace, prices, stale)]
        if frames and frames[-1]["parts"] == parts:
            continue
        frames.append({"parts": parts, "at": round(at, 3), "said": said})
    return {"pieces": list(pieces.known), "frames": frames}


def _encoded(made: dict[str, Any]) -> Html:
    """As JSON that can stand in a script element, whatever it says: nothing in it opens or closes a tag."""
    return Html(json.dumps(made, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def _event_text(event: ev.Event) -> str:
    match event:
        case ev.StepStarted():
            return f"{words.STEPS[event.step].lower()} begins"
        case ev.StepFinished():
            return f"{words.STEPS[event.step].lower()} ends"
        case ev.ActionTaken():
            return f"action: {event.decision.action}"
        case ev.Graded() if event.grade.score is not None:
            return f"graded: {event.grade.score:.2f}"
        case ev.Queued():
            return "waits for its turn" if event.before else "its turn has come"
        case ev.Token():
            return "writing"
        case ev.ApprovalAsked():
            return "asks whether the query may leave"
        case ev.ApprovalGiven():
            return "approved" if event.approved else "not approved"
        case ev.Searched() if event.found_at:
            return "web results remembered"
        case ev.Failed() if not event.fatal:
            return f"{words.STEPS[event.step].lower()}: a failure worked around"
        case _:
            return event.kind.replace("_", " ")


_STYLE = Html("""
html { color-scheme: light dark; }
body { font-family: Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif;
  margin: 0 auto 2rem; padding: 1rem; max-width: 60rem; background: var(--ground); }
.part:not(:empty) { margin-bottom: 1.2rem; }
.cx button { cursor: default; }
.cx .verdict { font-size: .7rem; }
.cx .more { display: none; }
.replay { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; position: sticky; top: 0; z-index: 1;
  padding: .6rem 0; margin-bottom: .8rem; background: var(--ground); border-bottom: 1px solid var(--line); }
.replay[hidden] { display: none; }
.cx.replay button { cursor: pointer; font: inherit; color: inherit; background: var(--panel); min-width: 4.6rem;
  border: 1px solid var(--line); border-radius: 8px; padding: .3rem .8rem; }
.cx.replay button:disabled { opacity: .5; cursor: default; }
.replay input { flex: 1 1 12rem; accent-color: var(--accent); }
.replay output { flex: 1 1 100%; font-size: .8rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
""")

_CONTROLS = Html("""<div class="cx replay" id="replay" role="group" aria-label="Replay of the run" hidden>\
<button type="button" id="play">Replay</button><button type="button" id="back">Back</button>\
<button type="button" id="step">Step</button>\
<input type="range" id="at" min="0" value="0" aria-label="Moment of the run">\
<output id="label" for="at"></output></div>""")


_PAGE = Html(
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}'; """
    """style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">"""
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>{question}</title><style>{stylesheet}{style}</style></head>"
    '<body>{controls}{body}<p class="cx small">CRAG Explorer, {strategy} strategy, {started_at}</p>'
    '<script type="application/json" id="states">{states}</script><script>{script}</script></body></html>'
)


def file_name(trace: Trace, ending: str) -> str:
    """A name made of the question's first words."""
    stem = "-".join(re.findall(r"[a-z0-9]+", trace.question.lower())[:6])[:50] or "run"
    return f"crag-{stem}.{ending}"


def page(
    trace: Trace,
    events: Sequence[ev.Event] = (),
    prices: Mapping[str, Price] = PRICES,
    stale: outdated.Stale = MappingProxyType({}),
) -> Html:
    """The whole run as one HTML document, which replays its `events`: it holds all it needs and loads nothing.

    Without script it shows the whole run; the only script that may run is its own, by its hash. `stale`: what is out
    of date of its documents by now.
    """
    drawn = sections(trace, prices, stale)
    script = (ASSETS / "replay.js").read_text(encoding="utf-8")
    return _PAGE.format(
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        question=trace.question,
        stylesheet=stylesheet(),
        style=_STYLE,
        controls=_CONTROLS,
        body=h.fragment(h.div("part", id=f"part-{place}")[section] for place, section in enumerate(drawn)),
        strategy=trace.strategy,
        started_at=trace.started_at,
        states=states(trace, events, prices=prices, stale=stale),
        script=Html(script),
    )
