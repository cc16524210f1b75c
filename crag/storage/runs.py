"""The runs of a library: their records and events, and the calls to outside services that they made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Integer, and_, case, delete, func, insert, literal_column, select

from crag.core.errors import NotFoundError, StorageError
from crag.core.events import Event, events_from_jsonl, events_to_jsonl
from crag.core.runfacts import DaySpending
from crag.core.trace import Trace
from crag.storage import tracks
from crag.storage.database import Part
from crag.storage.deletions import DeletedRuns, delete_runs, restore
from crag.storage.facts import note_facts
from crag.storage.in_flight import delete_note
from crag.storage.tables import asked_condition, calls, conversations, runs, was_asked

T = TypeVar("T")

_TRACE_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in few words. `action` is empty where it decided nothing (plain RAG, failed, cancelled).

    `via` is as `RunStarted` has it.
    """

    run_id: str
    question: str
    strategy: str
    action: str
    started_at: str
    seconds: float
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A stored run that can't be read: another version of the program wrote it, or the file was changed."""

    run_id: str
    message: str
    remedy: str


class Runs(Part):
    """A library's runs. Thread-safe, across processes too."""

    def save(self, trace: Trace, events: Sequence[Event]) -> None:
        """Store a run's record and events; a run of the same id is replaced.

        Its figures are stored with it. What it says of the library's chunks is added to their track records, unless it
        replaces one or belongs to an evaluation.
        """
        with self._database.write() as connection:
            again = connection.execute(delete(runs).where(runs.c.id == trace.run_id)).rowcount
            if not again and was_asked(trace.run_id):
                tracks.note(connection, trace)
            # Nothing where it was deleted while the run was under way.
            of = select(conversations.c.id).where(conversations.c.id == trace.conversation)
            number = connection.scalars(
                insert(runs)
                .values(
                    id=trace.run_id,
                    question=trace.meant,
                    strategy=trace.strategy,
                    action=trace.action.value if trace.action else "",
                    started_at=trace.started_at,
                    seconds=trace.seconds,
                    trace=trace.to_json(),
                    events=events_to_jsonl(events),
                    via=trace.via,
                    conversation=of.scalar_subquery(),
                )
                .returning(runs.c.number)
            ).one()
            note_facts(connection, number, trace)
            _save_calls(connection, trace)
            delete_note(connection, trace.run_id)

    def latest(self, limit: int = 100, *, every: bool = False) -> list[RunSummary]:
        """Those that somebody asked for, newest first; with `every` those of evaluations too."""
        c = runs.c
        found = select(c.id.label("run_id"), c.question, c.strategy, c.action, c.started_at, c.seconds, c.via)
        with self._database.read() as connection:
            if not every:
                found = found.where(asked_condition(connection.dialect))
            rows = connection.execute(found.order_by(c.number.desc()).limit(limit)).mappings()
            return [RunSummary(**row) for row in rows]

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first. A run that is stored again, under its old id, comes last."""
        return self._scalars(select(runs.c.id).order_by(runs.c.number))

    def questions(self, ids: Sequence[str]) -> dict[str, str]:
        """What these runs asked, by their ids; ids of no run are left out."""
        return dict(map(tuple, self._among(select(runs.c.id, runs.c.question), runs.c.id, ids)))

    def events(self, id: str) -> list[Event]:
        """Raises NotFoundError, and StorageError for a run of another version that can't be read."""
        return self._parsed(id, "events", events_from_jsonl)

    def trace(self, id: str) -> Trace:
        """Raises as `events` does."""
        return self._parsed(id, "trace", Trace.from_json)

    def traces(self, ids: Sequence[str]) -> Iterator[Trace | Unreadable]:
        """These runs' records as they are read, in the given order; ids of no run are left out."""
        for at in range(0, len(ids), _TRACE_BATCH):
            some = ids[at : at + _TRACE_BATCH]
            texts = dict(map(tuple, self._among(select(runs.c.id, runs.c.trace), runs.c.id, some)))
            yield from (_read(id, texts[id]) for id in some if id in texts)

    def readable(self, ids: Sequence[str]) -> Iterator[Trace]:
        """Those of them that this build can read."""
        return (each for each in self.traces(ids) if isinstance(each, Trace))

    def number(self, id: str) -> int | None:
        """The run's number, another one when it is stored again; None where it is not stored, or no more."""
        number: int | None = self._scalar(select(runs.c.number).where(runs.c.id == id))
        return number

    def delete(self, id: str) -> DeletedRuns:
        """With it all remembered web results and all reasons of grades go: they hold queries; and its conversation, if
        it was the last of it. What it returns brings the run back by `restore`.

        Raises NotFoundError.
        """
        return delete_runs(self._database, runs.c.id == id, _unknown(id))

    def restore(self, gone: DeletedRuns) -> None:
        """Bring back runs that were deleted, with their conversations, as they were."""
        with self._database.write(grows=False) as connection:
            restore(connection, gone)

    def spending(self, days: int = 30) -> list[DaySpending]:
        """Outside calls of the last `days` days (UTC), today included, also of runs deleted since, summed by day and
        model: latest day first, then by provider and model."""
        first = (datetime.now(UTC) - timedelta(days=days - 1)).date().isoformat()
        with self._database.read() as connection:
            return _sum_spending(connection, calls.c.at >= first)

    def _parsed(self, id: str, column: Literal["events", "trace"], parse: Callable[[str], T]) -> T:
        text: str | None = self._scalar(select(runs.c[column]).where(runs.c.id == id))
        if text is None:
            raise _unknown(id)
        try:
            return parse(text)
        except ValidationError as error:
            raise _unreadable(id) from error


def spending_of(connection: Connection, first: str, behind: str) -> list[DaySpending]:
    """What all runs whose id lies from `first` to before `behind` took, whenever they were, as `Runs.spending` does."""
    return _sum_spending(connection, and_(calls.c.run >= first, calls.c.run < behind))


def _save_calls(connection: Connection, trace: Trace) -> None:
    """Store a run's calls, in place of those of a run of the same id. They stay when the run is deleted."""
    connection.execute(delete(calls).where(calls.c.run == trace.run_id))
    names = ("step", "provider", "model", "seconds", "input_tokens", "output_tokens")
    rows = [
        {
            **{"run": trace.run_id, "at": trace.started_at, "failed": int(call.error is not None)},
            **{name: getattr(call, name) for name in names},
        }
        for call in trace.calls
    ]
    if rows:
        connection.execute(insert(calls), rows)


def _sum_spending(connection: Connection, where: ColumnElement[bool]) -> list[DaySpending]:
    c = calls.c
    # Bare numbers: a bound one would make another expression of it in GROUP BY than in SELECT.
    day = func.substr(c.at, literal_column("1"), literal_column("10"))
    uncounted = and_(c.model != "", c.failed == 0, c.input_tokens.is_(None))
    summed = (
        select(
            *(day, c.provider, c.model, func.count(), func.sum(c.failed)),
            func.sum(case((uncounted, 1), else_=0), type_=Integer),
            func.sum(c.seconds),
            func.coalesce(func.sum(c.input_tokens), 0),
            func.coalesce(func.sum(c.output_tokens), 0),
        )
        .where(where)
        .group_by(day, c.provider, c.model)
        .order_by(day.desc(), c.provider, c.model)
    )
    rows = connection.execute(summed)
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
