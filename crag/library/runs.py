"""What runs leave behind: their record, the grades they paid for, and people's labels on chunks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import TypeAdapter

from crag.core.errors import NotFoundError
from crag.core.events import Event, events_from_jsonl, events_to_jsonl
from crag.core.trace import Trace
from crag.core.types import Grade

__all__ = [
    "Label",
    "RunSummary",
    "delete_run",
    "list_labels",
    "list_runs",
    "load_grades",
    "run_events",
    "run_trace",
    "save_grades",
    "save_label",
    "save_run",
]

_GRADE: TypeAdapter[Grade] = TypeAdapter(Grade)
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One line of the history. `action` is empty where the run decided nothing (plain RAG, failed, cancelled)."""

    run_id: str
    question: str
    strategy: str
    action: str
    started_at: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's word on one chunk for one question. `at` is ISO 8601, UTC."""

    question: str
    chunk_id: str
    label: Literal["relevant", "irrelevant"]
    at: str


def save_run(connection: sqlite3.Connection, trace: Trace, events: Sequence[Event]) -> None:
    """Store a run; one of the same id is replaced."""
    connection.execute("DELETE FROM runs WHERE id = ?", (trace.run_id,))
    connection.execute(
        "INSERT INTO runs (id, question, strategy, action, started_at, seconds, trace, events) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            trace.run_id,
            trace.question,
            trace.strategy,
            trace.action.value if trace.action else "",
            trace.started_at,
            trace.seconds,
            trace.to_json(),
            events_to_jsonl(events),
        ),
    )


def list_runs(connection: sqlite3.Connection, limit: int) -> list[RunSummary]:
    """The latest runs, newest first."""
    rows = connection.execute(
        "SELECT id, question, strategy, action, started_at, seconds FROM runs ORDER BY number DESC LIMIT ?", (limit,)
    )
    return [
        RunSummary(run_id=id, question=question, strategy=strategy, action=action, started_at=at, seconds=seconds)
        for id, question, strategy, action, at, seconds in rows
    ]


def run_events(connection: sqlite3.Connection, run_id: str) -> list[Event]:
    """A run's events, in order. Raises NotFoundError."""
    return events_from_jsonl(_run(connection, run_id, "events"))


def run_trace(connection: sqlite3.Connection, run_id: str) -> Trace:
    """A run's record. Raises NotFoundError."""
    return Trace.from_json(_run(connection, run_id, "trace"))


def delete_run(connection: sqlite3.Connection, run_id: str) -> None:
    """With it all remembered web results go: they hold queries. Raises NotFoundError."""
    if not connection.execute("DELETE FROM runs WHERE id = ?", (run_id,)).rowcount:
        raise NotFoundError(f"There is no run {run_id} in this library.")
    connection.execute("DELETE FROM searches")


def load_grades(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Grade]:
    """The grades stored under these keys; unknown keys are absent."""
    found = {}
    for at in range(0, len(keys), _BATCH):
        some = keys[at : at + _BATCH]
        marks = ",".join("?" * len(some))
        for key, grade in connection.execute(f"SELECT key, grade FROM grades WHERE key IN ({marks})", some):
            found[key] = _GRADE.validate_json(grade)
    return found


def save_grades(connection: sqlite3.Connection, grades: dict[str, Grade]) -> None:
    """Store grades; those of the same key are replaced."""
    rows = [(key, _GRADE.dump_json(grade).decode()) for key, grade in grades.items()]
    connection.executemany("INSERT OR REPLACE INTO grades VALUES (?, ?)", rows)


def save_label(
    connection: sqlite3.Connection, question: str, chunk_id: str, label: Literal["relevant", "irrelevant"]
) -> None:
    """Store a label; a later one on the same chunk and question replaces it. Raises NotFoundError."""
    if not connection.execute("SELECT 1 FROM chunks WHERE id = ?", (chunk_id,)).fetchone():
        raise NotFoundError(f"There is no chunk {chunk_id} in this library.")
    at = datetime.now(UTC).isoformat(timespec="seconds")
    connection.execute("INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?)", (chunk_id, question, label, at))


def list_labels(connection: sqlite3.Connection) -> list[Label]:
    """All labels, oldest first."""
    rows = connection.execute("SELECT question, chunk, label, at FROM labels ORDER BY at, chunk")
    return [Label(question=question, chunk_id=chunk, label=label, at=at) for question, chunk, label, at in rows]


def _run(connection: sqlite3.Connection, run_id: str, column: Literal["events", "trace"]) -> str:
    row = connection.execute(f"SELECT {column} FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"There is no run {run_id} in this library.")
    return str(row[0])
