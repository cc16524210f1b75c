"""Rows of one evaluation: filtered, page by page, each opening the trace of its run."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TypeVar

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.metrics.metrics import ResultRow
from crag.core.errors import NotFoundError
from crag.messages.evaluations import UNSCORED
from ui.app import navigation
from ui.app.session import Session
from ui.components import html as h
from ui.components.drawing import draw
from ui.components.html import Html
from ui.components.safe_text import excerpt
from ui.evaluate.measures import FILTERS, as_text, found
from ui.run.path import chip

T = TypeVar("T")

PAGE = 25
"""Rows that are drawn at once: a browser holds no 10,000."""


def follow(session: Session, picked: str) -> None:
    """Open the trace of the run that was clicked. Raises NotFoundError where it was deleted."""
    kind, _, run = picked.partition(":")
    if kind != "run" or not run:
        return
    if run not in session.library.runs.ids():
        raise NotFoundError("The run of this row was deleted from the history.", "Its measures stay in the table.")
    session.visit(run)
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
        draw(h.div("cx")[h.p("quiet")["No rows match. Choose another filter or a shorter search."]])
        return
    start, here = paged(kept, PAGE, f"eval-page-{evaluation.id}-{chosen}-{wanted}")
    draw(listed(here, set(session.library.runs.ids())))
    if len(here) < len(kept):
        st.caption(f"Rows {start + 1:,} to {start + len(here):,} of {len(kept):,}.")


def paged(items: Sequence[T], size: int, key: str) -> tuple[int, Sequence[T]]:
    """A choice of pages where there are several; the place of the chosen one's first item, and its items."""
    pages = -(-len(items) // size)
    start = (st.pagination(pages, key=key) - 1) * size if pages > 1 else 0
    return start, items[start : start + size]


def listed(rows: Sequence[ResultRow], known: Container[str]) -> Html:
    """Rows with what became of each; `known`: the runs that the history still holds."""
    return h.div("cx eval-rows")[h.ul[(h.li[taken(row, known), h.span("facts")[facts(row)]] for row in rows)]]


def taken(row: ResultRow, known: Container[str], lead: str = "") -> Html:
    """The question, or `lead`, which opens the run where that is still there, and what was answered."""
    said = excerpt(row.problem or row.answer or "no answer", 220)
    inner = h.fragment(
        h.span("asked")[lead or row.question],
        h.span("peek")["Failed: " if row.problem else "", said],
    )
    if row.run_id in known:
        return h.button("open", data_pick=f"run:{row.run_id}", title="Open its trace")[inner]
    why = "run deleted" if row.run_id else "no run"
    return h.span("open")[inner, h.span("tag")[why]]


def facts(row: ResultRow) -> Html:
    """What was taken, found and said, each with a sign and a word."""
    if row.problem:
        return h.span("tag")["failed"]
    signs = [
        ("retrieved", row.acted_holds, "The retrieval that was acted on contains what is expected."),
        ("evidence", row.evidence_answer, "The kept evidence contains an accepted answer."),
        ("answer", row.answer_holds, "The answer contains an accepted answer."),
    ]
    shown = [h.span[chip(row.action)], *(_sign(*each) for each in signs)]
    faith = "–" if row.faithfulness is None else f"{row.faithfulness:.2f}"
    shown.append(h.span(title="Faithfulness")["faithful ", h.b("num")[faith]])
    shown.append(h.span("num")[as_text("seconds", row.seconds)])
    tags = [
        row.abstained and h.span("tag")["abstained"],
        row.unscored and h.span("tag", title=UNSCORED)["not scored"],
    ]
    return h.fragment(shown, tags)


def _sign(name: str, value: bool | None, title: str) -> Html:
    sign, said = ("–", "not known") if value is None else ("✓", "yes") if value else ("✕", "no")
    kind = "yes" if value else "no" if value is False else "none"
    return h.span(f"sign {kind}", title=f"{title} {said.capitalize()}.")[name, " ", h.b[sign]]
