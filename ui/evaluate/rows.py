"""Rows of one evaluation: filtered, each opening the trace of its run."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.metrics.metrics import ResultRow
from crag.export.html import words
from crag.export.html.safe_text import excerpt
from crag.messages.evaluations import UNSCORED
from ui.app import tables
from ui.app.session import Session
from ui.components import forms
from ui.evaluate.measures import FILTERS, as_text, found

_LOST = 240
"""Pixels of the column of reasons, the longest of all texts."""


def show(
    session: Session, evaluation: Evaluation, rows: Sequence[ResultRow], reasons: Mapping[str, str] | None = None
) -> None:
    """The rows of an evaluation with their filters; `reasons`: where and why questions were lost, by their ids."""
    counts = {key: sum(map(each.lets, rows)) for key, each in FILTERS.items()}
    shown = [key for key in FILTERS if counts[key] or key == "all"]
    titles = {key: f"{FILTERS[key].name} {counts[key]:,}" for key in shown}
    chosen = forms.one_of("Rows", titles, f"eval-filter-{evaluation.id}", "all", chips=True, persist_state=None)
    wanted = st.text_input(
        "Find in questions and answers", key="eval-find", placeholder="Find in questions and answers",
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip
    kept = found(rows, chosen, wanted)
    if not kept:
        st.caption("No rows match. Choose another filter or a shorter search.")
        return
    known = set(session.library.runs.ids())
    st.caption(f"{words.count(len(kept), 'row')}. Select one to open its run in Ask.")
    tables.open_run(
        session,
        [_row(row, known, reasons) for row in kept],
        lambda row, column: kept[row].run_id if kept[row].run_id in known else "",
        f"eval-rows-{evaluation.id}-{chosen}-{wanted}",
        "Rows of the evaluation",
        {"Lost": _LOST} if reasons else None,
    )


def _row(row: ResultRow, known: Container[str], reasons: Mapping[str, str] | None) -> tables.Row:
    """What was asked, taken, found and said, and where it was lost."""
    return {
        "Question": row.question,
        "Answer": answer_text(row),
        "Action": action_text(row),
        **({"Lost": reasons.get(row.question_id, "")} if reasons else {}),
        "Retrieved": sign(row.acted_holds),
        "In the evidence": sign(row.evidence_answer),
        "Answer right": sign(row.answer_holds),
        "Faithful": "–" if row.faithfulness is None else f"{row.faithfulness:.2f}",
        "Took": as_text("seconds", row.seconds),
        "Note": note(row, known),
    }


def answer_text(row: ResultRow) -> str:
    """What came of a question, or why nothing did."""
    return f"Failed: {row.problem}" if row.problem else excerpt(row.answer or "no answer", 220)


def action_text(row: ResultRow) -> str:
    """The action that was taken, with its sign."""
    return f"{words.ICONS[row.action]} {row.action}" if row.action else "no action"


def sign(value: bool | None) -> str:
    """Whether it is so, in a sign."""
    return "–" if value is None else "✓" if value else "✕"


def note(row: ResultRow, known: Container[str]) -> str:
    """What else is to be said of a row; `known`: the runs that the history still holds."""
    gone = "" if row.run_id in known else "run deleted" if row.run_id else "no run"
    said = ("abstained" if row.abstained else "", f"not scored: {UNSCORED}" if row.unscored else "", gone)
    return ", ".join(filter(None, said))
