"""The runs behind a mark: a list in a dialog, each of which opens in Ask, and all of them as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from crag.core.runfacts import RunFacts
from crag.core.types import Action
from crag.providers.registry import title
from ui.access import workspace_entry
from ui.app.program import program
from ui.app.session import Session
from ui.components import downloads, words
from ui.components import html as h
from ui.components.drawing import draw
from ui.components.html import Html
from ui.monitor import exports
from ui.monitor.filters import asker_text, scope_text
from ui.monitor.plots import bucket_text

RUN = "mon-run:"
"""Begins what a click on a run says; its id follows."""
_SHOWN = 100


@st.dialog("Runs", width="large")
def show(session: Session, mark: str, runs: Sequence[RunFacts], own: bool) -> None:
    """The runs that a mark stands for, as many as a person reads; `own`: they are of this session's library."""
    draw(h.div("cx")[h.p[h.b[mark_text(mark)], f": {words.count(len(runs), 'run')}."]])
    if not runs:
        return
    shown = runs[:_SHOWN]
    questions = session.library.runs.questions([run.run_id for run in shown]) if own else {}
    draw(_list(shown, questions))
    if len(runs) > _SHOWN:
        draw(h.div("cx")[h.p("small")[f"And {len(runs) - _SHOWN:,} more: the files have all."]])
    with st.container(horizontal=True):
        downloads.table("All of these", lambda: exports.runs(runs), "monitor-runs", key="mon-listed")


def _list(runs: Sequence[RunFacts], questions: Mapping[str, str]) -> Html:
    here = workspace_entry.here()
    return h.div("cx mon-list")[h.ul[(_item(run, questions.get(run.run_id, ""), here) for run in runs)]]


def _item(run: RunFacts, question: str, here: Mapping[str, str]) -> Html:
    address = urlencode({**here, "run": run.run_id})
    asked = (
        h.a(href=f"./?{address}", data_pick=RUN + run.run_id)[question]
        if question
        else h.span[f"A run in the library {run.workspace or 'of another version'}"]
    )
    action = (
        h.span(f"verdict {run.action.lower()}")[f"{words.ICONS[Action(run.action)]} {run.action}"] if run.action else ""
    )
    said = [
        words.moment(run.started_at),
        words.strategy(run.strategy),
        words.format_duration(run.seconds),
        f"best score {run.best:.2f}" if run.best is not None else "",
        words.count(run.rewrites, "rewrite") if run.rewrites else "",
        "searched the web" if run.web else "",
        run.outcome if run.outcome != "answered" else "",
        f"of {scope_text(run.scope)}" if run.scope else "",
        f"through {asker_text(run.via)}" if run.via not in ("", "app") else "",
        *(f"{title(who)}: {why}" for who, _, why in (each.rpartition(": ") for each in run.refused)),
    ]
    return h.li[asked, h.br, action, " ", h.span("small")[" · ".join(filter(None, said))]]


def mark_text(mark: str) -> str:
    """What a mark stands for, in words."""
    kind, _, rest = mark.partition("|")
    one, _, other = rest.partition("|")
    when = f"{bucket_text(one)}, " if one[:1].isdigit() and "-" in one else ""
    match kind:
        case "action":
            return f"{when}{'no action' if other == 'none' else other}"
        case "score":
            return f"Best score from {int(one) / 20:.2f}{', the four weeks before' if other == 'before' else ''}"
        case "step":
            least = "the slower half" if other == "median" else "the slowest twentieth"
            return f"{'Whole run' if one == 'run' else one.capitalize()}, {least}"
        case "failed":
            return f"{title(one)} failed: {other}"
        case "group":
            return words.strategy(other) if one == "strategy" else other or "all documents"
        case "outcome":
            return one
        case "weekly":
            return f"The week of {bucket_text(one)}"
        case _:
            return when + _KINDS.get(kind, "all")


_KINDS = {
    "web": "searched the web",
    "rewrites": "with rewritten queries, most first",
    "calls": "with outside calls, dearest first",
    "faithful": "answers that were checked, least supported first",
    "gaps": "not answered by the documents",
    "runs": "all runs",
}


def known(session: Session, run: str) -> bool:
    """Whether a run is in this session's library; what a click names comes from the browser."""
    return run in program().engine.library(session.workspace).runs.questions([run])
