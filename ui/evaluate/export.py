"""Results as files: rows and summaries as CSV and JSON, named after their set and strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.evaluation.evaluate import Evaluation
from crag.metrics.metrics import ResultRow
from crag.metrics.results import MEASURES, Result, flat
from crag.questions.tables import csv_export, json_export
from ui.app.session import Session
from ui.evaluate import numbers
from ui.evaluate.measures import label
from ui.evaluate.names import file_name, name

__all__ = ["files", "rows_file", "summary_file"]

_MIME = {"csv": "text/csv", "json": "application/json"}
_SUMMARY = ("set", "strategy", "settings", "parts", "measure", "name", "mean", "low", "high", "known", "questions")


def files(
    session: Session,
    evaluation: Evaluation,
    called: str,
    rows: Sequence[ResultRow],
    chosen: Sequence[Evaluation],
    heard: int,
) -> None:
    """The downloads of one evaluation's rows, and of the summary of all that are chosen."""
    with st.popover("Export"):
        for ending, mime in _MIME.items():
            st.download_button(
                f"Rows of this one, {ending.upper()}",
                lambda ending=ending: rows_file(rows, ending),  # type: ignore[misc]
                file_name=file_name(evaluation.set_name, called, "rows", ending=ending),
                mime=mime,
                on_click="ignore",
                key=f"eval-rows-{ending}",
            )
        for ending, mime in _MIME.items():
            st.download_button(
                f"Summary of all shown, {ending.upper()}",
                lambda ending=ending: summary_file(  # type: ignore[misc]
                    [(each, numbers.result(session, each, heard)) for each in chosen], ending
                ),
                file_name=file_name(evaluation.set_name, "summary", ending=ending),
                mime=mime,
                on_click="ignore",
                key=f"eval-summary-{ending}",
            )


def rows_file(rows: Sequence[ResultRow], ending: str) -> bytes:
    """Every row with all its measures; a column that a row does not have is empty."""
    tables = [flat(row) for row in rows]
    columns = list(dict.fromkeys(column for table in tables for column in table))
    return _written(columns, [[table.get(column) for column in columns] for table in tables], ending)


def summary_file(results: Sequence[tuple[Evaluation, Result]], ending: str) -> bytes:
    """A line for each measure of each evaluation, and for each count of the confusion of actions."""
    lines: list[Sequence[Any]] = []
    for evaluation, result in results:
        lead = (evaluation.set_name, name(evaluation), evaluation.settings.model_dump_json(), evaluation.parts)
        for key, mean in result.means.items():
            said = MEASURES.get(key, label(key))
            lines.append((*lead, key, said, mean.value, mean.low, mean.high, mean.known, result.questions))
        for action, counts in result.actions.items():
            for held, number in counts.items():
                key, said = f"action_{action}_{held}", f"{action}, retrieval {held}"
                lines.append((*lead, key, said, number, None, None, result.questions, result.questions))
    return _written(_SUMMARY, lines, ending)


def _written(columns: Sequence[str], lines: Sequence[Sequence[Any]], ending: str) -> bytes:
    return csv_export(columns, lines) if ending == "csv" else json_export(columns, lines)
