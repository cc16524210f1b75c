"""A run as files: its events, and one page of HTML that replays it anywhere without this program."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence

from crag.core.events import Event
from crag.core.trace import Trace
from crag.spending.prices import PRICES, Price
from ui.kit import html as h
from ui.kit.html import Html
from ui.kit.look import ASSETS, sheet
from ui.run import replay

__all__ = ["file_name", "page"]

_STYLE = Html("""
html { color-scheme: light dark; }
body { font-family: Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif;
  margin: 0 auto 2rem; padding: 1rem; max-width: 60rem; background: var(--ground); }
.part:not(:empty) { margin-bottom: 1.2rem; }
.cx button { cursor: default; }
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
    "<title>{question}</title><style>{sheet}{style}</style></head>"
    '<body>{controls}{body}<p class="cx small">CRAG Explorer, {strategy} strategy, {started_at}</p>'
    '<script type="application/json" id="states">{states}</script><script>{script}</script></body></html>'
)


def file_name(trace: Trace, ending: str) -> str:
    """A name made of the question's first words."""
    stem = "-".join(re.findall(r"[a-z0-9]+", trace.question.lower())[:6])[:50] or "run"
    return f"crag-{stem}.{ending}"


def page(trace: Trace, events: Sequence[Event] = (), prices: Mapping[str, Price] = PRICES) -> Html:
    """The whole run as one HTML document, which replays its `events`: it holds all it needs and loads nothing.

    Without script it shows the whole run; the only script that may run is its own, by its hash.
    """
    sections = replay.sections(trace, prices)
    script = (ASSETS / "replay.js").read_text(encoding="utf-8")
    return _PAGE.format(
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        question=trace.question,
        sheet=sheet(),
        style=_STYLE,
        controls=_CONTROLS,
        body=h.fragment(h.div("part", id=f"part-{place}")[section] for place, section in enumerate(sections)),
        strategy=trace.strategy,
        started_at=trace.started_at,
        states=replay.states(trace, events, prices=prices),
        script=Html(script),
    )
