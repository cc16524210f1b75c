"""The Tune page's tables as files: what every run would become, and the scores with their labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import streamlit as st

from crag.analysis.thresholds.labelled import ChunkScore
from crag.analysis.whatif.entries import Entry, Outcome
from crag.core.errors import NotFoundError
from crag.messages.tuning import unknown_sentence
from ui.app.session import Session
from ui.components import downloads

Table = tuple[str, str, Callable[[], downloads.Table]]
"""What it is in words, its file's name, and what makes its columns and rows."""


def runs(outcome: Outcome, entries: Mapping[str, Entry]) -> Table:
    columns = (
        *("run", "question", "strategy", "asked_at", "via", "was", "would_be", "reason", "round", "documents", "web"),
        *("searched_web", "strips_kept_before", "strips_kept_after"),
    )

    def rows() -> Iterator[Sequence[object]]:
        for row in outcome.rows:
            entry = entries[row.run_id]
            reason = unknown_sentence(row.plan.reason) if row.plan.reason else ""
            yield (
                *(row.run_id, entry.question, entry.strategy, entry.started_at, entry.via),
                *(row.before, row.becomes, reason),
                *(row.plan.round + 1, row.plan.documents, row.plan.web),
                *(row.searched, row.kept_before, row.kept),
            )

    return "What every run would become", "tune-runs", lambda: (columns, rows())


def scores(found: Sequence[ChunkScore], questions: Mapping[str, str]) -> Table:
    """`questions`: by run."""
    columns = ("run", "question", "chunk", "score", "relevant", "evaluator")

    def rows() -> Iterator[Sequence[object]]:
        for each in found:
            yield each.run_id, questions[each.run_id], each.chunk_id, each.score, each.relevant, each.evaluator

    return "Scores with their labels", "tune-scores", lambda: (columns, rows())


def offered(session: Session, runs: Collection[str], tables: Sequence[Table]) -> None:
    """A button that opens the list of files, which are made of these runs as long as all are there."""

    def checked(make: Callable[[], downloads.Table]) -> downloads.Table:
        if not set(runs) <= set(session.library.runs.ids()):
            raise NotFoundError("One of these runs was deleted.", "Open the page again.")
        return make()

    list_of_files = st.popover("Export", key="tune-export", on_change="rerun")
    if not list_of_files.open:
        return
    with list_of_files:
        for title, name, make in tables:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(title, width=190)
                downloads.table("", partial(checked, make), name, key=f"tune-export-{name}")
