"""A run as files: its events, and one page of HTML that replays it anywhere without this program."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence

from crag.core.events import Event
from crag.core.trace import Trace
from crag.spending.prices import PRICES, Price
from ui.kit.look import ASSETS, sheet
from ui.kit.safe import text
from ui.run import replay

__all__ = ["file_name", "page"]

_STYLE = """
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
"""

_CONTROLS = """<div class="cx replay" id="replay" role="group" aria-label="Replay of the run" hidden>\
<button type="button" id="play">Replay</button><button type="button" id="back">Back</button>\
<button type="button" id="step">Step</button>\
<input type="range" id="at" min="0" value="0" aria-label="Moment of the run">\
<output id="label" for="at"></output></div>"""


def file_name(trace: Trace, ending: str) -> str:
    """A name made of the question's first words."""
    stem = "-".join(re.findall(r"[a-z0-9]+", trace.question.lower())[:6])[:50] or "run"
    return f"crag-{stem}.{ending}"


def page(trace: Trace, events: Sequence[Event] = (), prices: Mapping[str, Price] = PRICES) -> str:
    """The whole run as one HTML document, which replays its `events`: it holds all it needs and loads nothing.

    Without script it shows the whole run; the only script that may run is its own, by its hash.
    """
    asked = f"{text(trace.strategy)} strategy, {text(trace.started_at)}"
    sections = replay.sections(trace, prices)
    body = "".join(f'<div class="part" id="part-{place}">{section}</div>' for place, section in enumerate(sections))
    script = (ASSETS / "replay.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(trace.question)}</title><style>{sheet()}{_STYLE}</style></head>"
        f'<body>{_CONTROLS}{body}<p class="cx small">CRAG Explorer, {asked}</p>'
        f'<script type="application/json" id="states">{replay.states(trace, events, prices=prices)}</script>'
        f"<script>{script}</script></body></html>"
    )
