"""Rows of one evaluation: filtered, page by page, each opening the trace of its run."""

from __future__ import annotations

from collections.abc import Container, Sequence

import streamlit as st

from crag.core.errors import NotFoundError
from crag.evaluation.evaluate import Evaluation
from crag.metrics.metrics import ResultRow
from ui.app import navigation
from ui.app.session import Session
from ui.evaluate.measures import FILTERS, as_text, found
from ui.kit import words
from ui.kit.look import draw
from ui.kit.safe import excerpt, text
from ui.run.path import chip

__all__ = ["PAGE", "facts", "follow", "listed", "show", "taken"]

PAGE = 25
"""Rows that are drawn at once: a browser holds no 10,000."""


def follow(session: Session, picked: str | None) -> None:
    """Open the trace of the run that was clicked. Raises NotFoundError where it was deleted."""
    kind, _, run = (picked or "").partition(":")
    if kind != "run" or not run:
        return
    if run not in session.library.runs.ids():
        raise NotFoundError("The run of this row was deleted from the history.", "Its measures stay in the table.")
    session.select(run)
    navigation.go("ask")
    st.rerun()


def show(session: Session, evaluation: Evaluation, rows: Sequence[ResultRow]) -> None:
    """The rows of an evaluation with their filters."""
    counts = {key: sum(map(each.lets, rows)) for key, each in FILTERS.items()}
    shown = [key for key in FILTERS if counts[key] or key == "all"]
    chosen = st.pills(
        "Rows",
        shown,
        default="all",
        required=True,
        format_func=lambda key: f"{FILTERS[key].name} {counts[key]:,}",
        key=f"eval-filter-{evaluation.id}",
        label_visibility="collapsed",
    )
    wanted = st.text_input(
        "Find in questions and answers", key="eval-find", placeholder="Find in questions and answers",
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip
    kept = found(rows, chosen or "all", wanted)
    if not kept:
        draw(
            '<div class="cx"><p class="quiet">No row is like that. Choose another filter, or search for less.</p></div>'
        )
        return
    pages = -(-len(kept) // PAGE)
    page = st.pagination(pages, key=f"eval-page-{evaluation.id}-{chosen}-{wanted}") if pages > 1 else 1
    start = (page - 1) * PAGE
    known = set(session.library.runs.ids())
    draw(listed(kept[start : start + PAGE], known))
    if pages > 1:
        st.caption(f"Rows {start + 1:,} to {min(start + PAGE, len(kept)):,} of {len(kept):,}.")


def listed(rows: Sequence[ResultRow], known: Container[str]) -> str:
    """Rows with what became of each; `known`: the runs that the history still holds."""
    items = "".join(f'<li>{taken(row, known)}<span class="facts">{facts(row)}</span></li>' for row in rows)
    return f'<div class="cx eval-rows"><ul>{items}</ul></div>'


def taken(row: ResultRow, known: Container[str], lead: str = "") -> str:
    """The question, or `lead`, which opens the run where that is still there, and what was answered."""
    said = excerpt(row.problem or row.answer or "no answer", 220)
    inner = (
        f'<span class="asked">{text(lead or row.question)}</span>'
        f'<span class="peek">{"Failed: " if row.problem else ""}{text(words.plain(said))}</span>'
    )
    if row.run_id in known:
        return f'<button class="open" data-pick="run:{text(row.run_id)}" title="Open its trace">{inner}</button>'
    why = "run deleted" if row.run_id else "no run"
    return f'<span class="open">{inner}<span class="tag">{why}</span></span>'


def facts(row: ResultRow) -> str:
    """What was taken, found and said, each with a sign and a word."""
    if row.problem:
        return '<span class="tag">failed</span>'
    signs = [
        ("retrieved", row.acted_holds, "The retrieval acted on holds what is sought."),
        ("evidence", row.evidence_answer, "The evidence kept holds an accepted answer."),
        ("answer", row.answer_holds, "The answer says an accepted answer."),
    ]
    shown = [f"<span>{chip(row.action)}</span>", *(_sign(*each) for each in signs)]
    faith = "–" if row.faithfulness is None else f"{row.faithfulness:.2f}"
    shown.append(f'<span title="Faithfulness">faithful <b class="num">{faith}</b></span>')
    shown.append(f'<span class="num">{as_text("seconds", row.seconds)}</span>')
    return "".join(shown) + ('<span class="tag">abstained</span>' if row.abstained else "")


def _sign(name: str, value: bool | None, title: str) -> str:
    sign, said = ("–", "not known") if value is None else ("✓", "yes") if value else ("✕", "no")
    kind = "yes" if value else "no" if value is False else "none"
    return f'<span class="sign {kind}" title="{title} {said.capitalize()}.">{name} <b>{sign}</b></span>'
