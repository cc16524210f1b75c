"""What runs leave behind: their record, the grades they paid for, and people's labels on chunks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from crag.core.errors import NotFoundError, StorageError
from crag.core.events import Event, events_from_jsonl, events_to_jsonl
from crag.core.trace import Trace
from crag.core.types import Grade
from crag.library.schema import ASKED

__all__ = [
    "Label",
    "RunSummary",
    "Unreadable",
    "delete_run",
    "list_labels",
    "list_runs",
    "load_grades",
    "read_trace",
    "run_events",
    "run_ids",
    "run_trace",
    "save_grades",
    "save_label",
    "save_run",
    "trace_texts",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A stored run that can't be read: another version of the program wrote it, or the file was changed."""

    run_id: str
    message: str
    remedy: str


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


def list_runs(connection: sqlite3.Connection, limit: int, every: bool) -> list[RunSummary]:
    """The latest runs that a person asked for, newest first; with `every` those of evaluations too."""
    rows = connection.execute(
        "SELECT id, question, strategy, action, started_at, seconds FROM runs "
        f"{'' if every else f'WHERE {ASKED}'} ORDER BY number DESC LIMIT ?",
        (limit,),
    )
    return [
        RunSummary(run_id=id, question=question, strategy=strategy, action=action, started_at=at, seconds=seconds)
        for id, question, strategy, action, at, seconds in rows
    ]


def run_events(connection: sqlite3.Connection, run_id: str) -> list[Event]:
    """A run's events, in order. Raises NotFoundError, and StorageError for a run that can't be read."""
    try:
        return events_from_jsonl(_run(connection, run_id, "events"))
    except ValidationError as error:
        raise _unreadable(run_id) from error


def run_trace(connection: sqlite3.Connection, run_id: str) -> Trace:
    """A run's record. Raises NotFoundError, and StorageError for a run that can't be read."""
    try:
        return Trace.from_json(_run(connection, run_id, "trace"))
    except ValidationError as error:
        raise _unreadable(run_id) from error


def run_ids(connection: sqlite3.Connection) -> list[str]:
    """The ids of all runs, oldest first."""
    return [str(row[0]) for row in connection.execute("SELECT id FROM runs ORDER BY number")]


def trace_texts(connection: sqlite3.Connection, ids: Sequence[str]) -> list[tuple[str, str]]:
    """Ids and stored records of these runs, in the given order; unknown ids are left out."""
    found: dict[str, str] = {}
    for at in range(0, len(ids), _BATCH):
        some = ids[at : at + _BATCH]
        marks = ",".join("?" * len(some))
        found.update(connection.execute(f"SELECT id, trace FROM runs WHERE id IN ({marks})", some).fetchall())
    return [(id, found[id]) for id in ids if id in found]


def read_trace(run_id: str, text: str) -> Trace | Unreadable:
    """The record of a stored text, or why there is none."""
    try:
        return Trace.from_json(text)
    except ValidationError:
        error = _unreadable(run_id)
        return Unreadable(run_id=run_id, message=error.message, remedy=error.remedy)


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


def _unreadable(run_id: str) -> StorageError:
    return StorageError(
        f"The run {run_id} was stored by another version of this program and can't be read.",
        "Ask its question again, or delete it from the history; all others are untouched.",
    )
