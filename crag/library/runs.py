"""The runs of a library: their records and events, and what their outside calls took."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import ValidationError

from crag.core.errors import NotFoundError, StorageError
from crag.core.events import Event, events_from_jsonl, events_to_jsonl
from crag.core.meter import DaySpending
from crag.core.trace import Trace
from crag.library.database import Database
from crag.library.schema import ASKED
from crag.library.store import select_in

_TRACE_BATCH = 100


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
class Unreadable:
    """A stored run that can't be read: another version of the program wrote it, or the file was changed."""

    run_id: str
    message: str
    remedy: str


class Runs:
    """A library's runs. Thread-safe, across processes too."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, trace: Trace, events: Sequence[Event]) -> None:
        """Store a run's record and events; a run of the same id is replaced."""
        with self._database.write() as connection:
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
            _save_calls(connection, trace)

    def latest(self, limit: int = 100, *, every: bool = False) -> list[RunSummary]:
        """Those that a person asked for, newest first; with `every` those of evaluations too."""
        where = "" if every else f"WHERE {ASKED}"
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, question, strategy, action, started_at, seconds FROM runs "
                f"{where} ORDER BY number DESC LIMIT ?",
                (limit,),
            ).fetchall()
        return [
            RunSummary(run_id=id, question=question, strategy=strategy, action=action, started_at=at, seconds=seconds)
            for id, question, strategy, action, at, seconds in rows
        ]

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first. A run that is stored anew, under its old id, comes last."""
        with self._database.read() as connection:
            return [str(row[0]) for row in connection.execute("SELECT id FROM runs ORDER BY number")]

    def events(self, id: str) -> list[Event]:
        """Raises NotFoundError, and StorageError for a run of another version that can't be read."""
        text = self._text(id, "events")
        try:
            return events_from_jsonl(text)
        except ValidationError as error:
            raise _unreadable(id) from error

    def trace(self, id: str) -> Trace:
        """Raises as `events` does."""
        text = self._text(id, "trace")
        try:
            return Trace.from_json(text)
        except ValidationError as error:
            raise _unreadable(id) from error

    def traces(self, ids: Sequence[str]) -> Iterator[Trace | Unreadable]:
        """These runs' records as they are read, in the given order; ids of no run are left out."""
        for at in range(0, len(ids), _TRACE_BATCH):
            some = ids[at : at + _TRACE_BATCH]
            with self._database.read() as connection:
                texts = dict(select_in(connection, "SELECT id, trace FROM runs WHERE id IN ({})", some))
            yield from (_read(id, texts[id]) for id in some if id in texts)

    def delete(self, id: str) -> None:
        """With it all remembered web results go: they hold queries. Raises NotFoundError."""

        def removed(connection: sqlite3.Connection) -> None:
            if not connection.execute("DELETE FROM runs WHERE id = ?", (id,)).rowcount:
                raise _unknown(id)
            connection.execute("DELETE FROM searches")

        self._database.free(removed)

    def spending(self, days: int = 30) -> list[DaySpending]:
        """Outside calls of the last so many days (UTC), today included, also of runs deleted since, summed by day and
        model: latest day first, then by provider and model."""
        first = (datetime.now(UTC) - timedelta(days=days - 1)).date().isoformat()
        with self._database.read() as connection:
            return _summed(connection, "at >= ?", (first,))

    def _text(self, id: str, column: Literal["events", "trace"]) -> str:
        with self._database.read() as connection:
            row = connection.execute(f"SELECT {column} FROM runs WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise _unknown(id)
        return str(row[0])


def spending_of(connection: sqlite3.Connection, first: str, behind: str) -> list[DaySpending]:
    """What all runs whose id lies from `first` to before `behind` took, whenever they were, as `Runs.spending` does."""
    return _summed(connection, "run >= ? AND run < ?", (first, behind))


def _save_calls(connection: sqlite3.Connection, trace: Trace) -> None:
    """Store a run's calls, in place of those of a run of the same id. They stay when the run is deleted."""
    connection.execute("DELETE FROM calls WHERE run = ?", (trace.run_id,))
    connection.executemany(
        "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                trace.run_id,
                trace.started_at,
                call.step,
                call.provider,
                call.model,
                call.seconds,
                call.input_tokens,
                call.output_tokens,
                call.error is not None,
            )
            for call in trace.calls
        ],
    )


def _summed(connection: sqlite3.Connection, where: str, values: tuple[str, ...]) -> list[DaySpending]:
    rows = connection.execute(
        "SELECT substr(at, 1, 10) AS day, provider, model, count(*), sum(failed), "
        "sum(model != '' AND NOT failed AND input_tokens IS NULL), sum(seconds), "
        "coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) "
        f"FROM calls WHERE {where} GROUP BY day, provider, model ORDER BY day DESC, provider, model",
        values,
    )
    return [DaySpending(**dict(zip(DaySpending.__slots__, row, strict=True))) for row in rows]


def _read(id: str, text: str) -> Trace | Unreadable:
    try:
        return Trace.from_json(text)
    except ValidationError:
        error = _unreadable(id)
        return Unreadable(run_id=id, message=error.message, remedy=error.remedy)


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"There is no run {id} in this library.")


def _unreadable(id: str) -> StorageError:
    return StorageError(
        f"The run {id} was stored by another version of this program and can't be read.",
        "Ask its question again, or delete it from the history; all others are untouched.",
    )
