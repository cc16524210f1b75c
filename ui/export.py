"""A run as files: its events, and one page of HTML that shows it anywhere without this program."""

from __future__ import annotations

import re

from crag.core.trace import Trace
from ui import answer, evidence, path
from ui.look import sheet
from ui.safe import text

__all__ = ["file_name", "page"]


def file_name(trace: Trace, ending: str) -> str:
    """A name made of the question's first words."""
    stem = "-".join(re.findall(r"[a-z0-9]+", trace.question.lower())[:6])[:50] or "run"
    return f"crag-{stem}.{ending}"


def page(trace: Trace) -> str:
    """The whole run as one HTML document: it holds its style, loads nothing and runs no script."""
    view = evidence.View.of(trace)
    asked = f"{text(trace.strategy)} strategy, {text(trace.started_at)}"
    body = "".join(
        (
            answer.question(trace),
            path.path(trace),
            path.action(trace),
            answer.answer(trace),
            answer.sources(trace),
            evidence.chunks(trace, view),
            evidence.web(trace, view),
            path.meter(trace),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(trace.question)}</title><style>{sheet()}"
        "html { color-scheme: light dark; } body { font-family: Inter, 'Segoe UI', Roboto,"
        " 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif; margin: 2rem auto;"
        " padding: 0 1rem; max-width: 60rem; background: var(--ground); } body > .cx { margin-bottom: 1.2rem; }"
        " .cx button { cursor: default; } .cx .more { display: none; }</style></head>"
        f'<body>{body}<p class="cx small">CRAG Explorer, {asked}</p></body></html>'
    )
