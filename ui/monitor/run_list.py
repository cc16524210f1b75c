"""The runs behind a mark: a list in a dialog, each of which opens in Ask, and all of them as a file."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.core.runfacts import RunFacts
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.providers.registry import title
from ui.app import tables
from ui.app.session import Session
from ui.components import downloads
from ui.monitor import exports
from ui.monitor.filters import asker_text, scope_text
from ui.monitor.plots import bucket_text

_SHOWN = 1000


@st.dialog("Runs", width="large")
def show(session: Session, mark: str, runs: Sequence[RunFacts], own: bool) -> None:
    """The runs that a mark stands for, as many as a person reads; `own`: they are of this session's library."""
    st.markdown(f"**{markdown(mark_text(mark))}**: {words.count(len(runs), 'run')}.")
    if not runs:
        return
    shown = runs[:_SHOWN]
    questions = session.library.runs.questions([run.run_id for run in shown]) if own else {}
    rows = [_row(run, questions.get(run.run_id, "")) for run in shown]
    st.caption("Select a question to open its run in Ask.")
    here = [run.run_id if run.run_id in questions else "" for run in shown]
    tables.open_run(session, rows, lambda row, column: here[row], "mon-list", "Runs")
    if len(runs) > _SHOWN:
        st.caption(f"And {len(runs) - _SHOWN:,} more: the files have all.")
    with st.container(horizontal=True):
        downloads.table("All of these", lambda: exports.runs(runs), "monitor-runs", key="mon-listed")


def _row(run: RunFacts, question: str) -> tables.Row:
    refused = (each.rpartition(": ") for each in run.refused)
    row = {
        "Question": question or f"A run in the library {run.workspace or 'of another version'}",
        "Action": f"{words.ICONS[Action(run.action)]} {run.action}" if run.action else "",
        "Asked": words.moment(run.started_at),
        "Strategy": words.strategy(run.strategy),
        "Took": words.format_duration(run.seconds),
        "Best score": f"{run.best:.2f}" if run.best is not None else "",
        "Rewrites": f"{run.rewrites:,}" if run.rewrites else "",
        "Web": "searched" if run.web else "",
        "Ended": run.outcome if run.outcome != "answered" else "",
        "Asked of": scope_text(run.scope) if run.scope else "",
        "Through": asker_text(run.via) if run.via not in ("", "app") else "",
        "Failed": ", ".join(f"{title(who)}: {why}" for who, _, why in refused),
    }
    return {name: said for name, said in row.items() if said}


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
    "runs": "All runs",
}
