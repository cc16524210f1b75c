"""The runs of a library: their records and events, and what their outside calls took.

Figures of each run, in a row beside it, so that ten thousand runs are counted without reading their records.

The transaction that stores a run stores its figures; they are deleted with the run.

Work in a library that is not finished: what a killed program leaves unfinished is shown, not lost.

A note is written before the work begins and goes with its end. One whose program is gone was cut off.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Integer, and_, case, delete, func, insert, literal_column, select

from crag.core.errors import LibraryError, NotFoundError, StorageError
from crag.core.events import Event, events_from_jsonl, events_to_jsonl
from crag.core.protocols import OWN
from crag.core.runfacts import DaySpending, RunFacts, figures_of
from crag.core.trace import Trace
from crag.core.types import Document
from crag.storage import labels, store
from crag.storage.records import Records
from crag.storage.store import select_in
from crag.storage.tables import asked_condition, calls, facts, meta, runs, searches, was_asked

T = TypeVar("T")

_PLAIN = (
    *("started_at", "strategy", "via", "action", "outcome", "evaluator", "scope", "best", "upper"),
    *("lower", "searches", "rewrites", "seconds", "waited", "faithfulness"),
)
"""The fields that have a column each; the others lie together in `detail`."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How many runs have figures, and the highest number of one."""

    runs: int
    last: int


class Facts:
    """A library's figures of runs. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Records, workspace: str) -> None:
        """`workspace` is the library's name, which no row repeats: a private one may be given another."""
        self._database, self._workspace = database, workspace

    def standing(self) -> Standing:
        """Another value as soon as `since` or `citing` would return something else, at little cost."""
        with self._database.read() as connection:
            runs, last = connection.execute(select(func.count(), func.max(facts.c.run)).select_from(facts)).one()
            return Standing(runs, last or 0)

    def since(self, number: int = 0) -> list[tuple[int, RunFacts]]:
        """The figures of runs whose number is above this, with it, in the order in which they were stored."""
        asked = select(facts).where(facts.c.run > number).order_by(facts.c.run)
        with self._database.read() as connection:
            return [
                (row["run"], _read_facts(dict(row), self._workspace)) for row in connection.execute(asked).mappings()
            ]

    def of(self, ids: Sequence[str]) -> dict[str, RunFacts]:
        """The figures of these runs by their ids; of those that are gone or have none, nothing."""
        with self._database.read() as connection:
            rows = select_in(connection, select(facts), facts.c.id, ids)
            return {row.id: _read_facts(dict(row._mapping), self._workspace) for row in rows}

    def citing(self, documents: Sequence[Document]) -> dict[str, int]:
        """How many questions have an answer that cites each document, or the text in whose place it came, by its id.

        A question counts once, however often and under however many strategies it was asked. Evaluations do not count.
        """
        asked = select(runs.c.id, runs.c.question, facts.c.detail).join_from(facts, runs, runs.c.number == facts.c.run)
        found: dict[str, set[str]] = {}
        with self._database.read() as connection:
            for id, question, detail in connection.execute(asked.where(facts.c.detail.contains('"cited"'))):
                if was_asked(id):
                    for document in json.loads(detail).get("cited", ()):
                        found.setdefault(document, set()).add(" ".join(question.casefold().split()))
        return {
            each.id: len(set[str]().union(*(found.get(id, ()) for id in (each.id, *each.earlier))))
            for each in documents
        }


def note_facts(connection: Connection, number: int, trace: Trace) -> None:
    """Store the figures of the run of this number."""
    connection.execute(insert(facts), [_row(number, figures_of(trace))])


def _row(number: int, made: RunFacts) -> dict[str, Any]:
    detail = {
        "steps": made.steps,
        "used": [astuple(each)[1:] for each in made.used],
        "failures": made.failures,
        "refused": made.refused,
        "cited": made.cited,
        "partial": made.partial,
    }
    whole = {name: value for name, value in detail.items() if value}
    return {"run": number, "id": made.run_id, **{name: getattr(made, name) for name in _PLAIN}, "detail": _json(whole)}


def _json(detail: Mapping[str, Any]) -> str:
    return json.dumps(detail, separators=(",", ":"), ensure_ascii=False)


def _read_facts(row: Mapping[str, Any], workspace: str) -> RunFacts:
    detail = json.loads(row["detail"])
    day = str(row["started_at"])[:10]
    names = DaySpending.__slots__
    detail["used"] = tuple(
        DaySpending(**dict(zip(names, (day, *each), strict=True))) for each in detail.get("used", ())
    )
    detail["cited"] = tuple(detail.get("cited", ()))
    return RunFacts(run_id=row["id"], workspace=workspace, **{name: row[name] for name in _PLAIN}, **detail)


_KEY = "in flight "
_ELSEWHERE = timedelta(hours=1)
"""After so long, work started on another machine counts as cut off: whether its program lives can't be seen from
here.
"""
_here: set[str] = set()
"""Keys of what this process is doing."""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightJob:
    """A run or an upload. `at`: when it began, ISO 8601 in UTC. `label` is what a person calls it.

    `names` are the files of an upload, in order. `first` is the first event of a run, as a line of JSON.
    """

    id: str
    kind: Literal["run", "upload"]
    label: str
    at: str = ""
    names: tuple[str, ...] = ()
    first: str = ""


class InFlightJobs:
    """The notes of one library. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def start(self, work: InFlightJob) -> bool:
        """Write down that this begins; False where it can't be: the work goes on without."""
        value = json.dumps({**asdict(work), "at": work.at or _now().isoformat(), "by": _process(os.getpid())})
        with _lock:
            _here.add(work.id)
        try:
            with self._database.write(synced=False) as connection:
                store.put(connection, meta, [{"key": _KEY + work.id, "value": value}])
        except LibraryError:
            return False
        return True

    def finish(self, id: str) -> None:
        """It is over, and the program that started it knows.

        Where that can't be stored, this process knows it all the same.
        """
        with suppress(LibraryError):
            if self.known(id):
                with self._database.write(grows=False, synced=False) as connection:
                    delete_note(connection, id)
            with _lock:
                _here.discard(id)

    def known(self, id: str) -> bool:
        """Whether there is a note of this work. Raises StorageError."""
        with self._database.read() as connection:
            return connection.scalar(select(meta.c.key).where(meta.c.key == _KEY + id)) is not None

    def cut_off(self) -> list[InFlightJob]:
        """What no program is doing any more, the oldest first. Raises StorageError."""
        gone = [each for each in self._notes() if not _goes_on(each["id"], each["at"], each.pop("by"))]
        if gone:
            # What ended since it was read has taken its note along, before its program or this process let it go.
            there = {each["id"] for each in self._notes()}
            gone = [each for each in gone if each["id"] in there]
        return [
            InFlightJob(**{**each, "names": tuple(each["names"])}) for each in sorted(gone, key=lambda one: one["at"])
        ]

    def _notes(self) -> list[dict[str, Any]]:
        wanted = select(meta.c.value).where(meta.c.key.startswith(_KEY, autoescape=True))
        with self._database.read() as connection:
            return [json.loads(value) for value in connection.scalars(wanted)]


def delete_note(connection: Connection, id: str) -> None:
    """The note of this work goes, within the caller's transaction."""
    connection.execute(delete(meta).where(meta.c.key == _KEY + id))


def _goes_on(id: str, at: str, by: dict[str, str]) -> bool:
    """Whether the process that wrote a note still works on it."""
    if by["host"] != socket.gethostname():
        return _now() - datetime.fromisoformat(at) < _ELSEWHERE
    if by == _process(os.getpid()):
        with _lock:
            return id in _here
    return by == _process(int(by["pid"]))


def _process(pid: int) -> dict[str, str]:
    """What tells a process from every other of this machine, also from a later one of the same number."""
    return {"host": socket.gethostname(), "pid": str(pid), "since": _since(pid)}


def _since(pid: int) -> str:
    """When a process began, as the system counts; "gone" where there is none, or where it has ended."""
    try:
        # Of /proc/…/stat: the program's name in brackets may hold anything; the state comes first after it.
        said = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "gone" if said[0] in "ZX" else said[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return "gone"
    try:
        os.kill(pid, 0)
    except PermissionError:
        return ""
    except OSError:
        return "gone"
    return ""


def _now() -> datetime:
    return datetime.now(UTC)


_TRACE_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One line of the history. `action` is empty where the run decided nothing (plain RAG, failed, cancelled).

    `via`: how it came in, as `RunStarted` has it.
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


class Runs:
    """A library's runs. Thread-safe, across processes too."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def save(self, trace: Trace, events: Sequence[Event]) -> None:
        """Store a run's record and events; a run of the same id is replaced.

        Its figures are stored with it. What it says of the library's chunks is added to their track records, unless it
        replaces one or belongs to an evaluation.
        """
        with self._database.write() as connection:
            again = connection.execute(delete(runs).where(runs.c.id == trace.run_id)).rowcount
            if not again and was_asked(trace.run_id):
                labels.note(connection, trace)
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
                )
                .returning(runs.c.number)
            ).one()
            note_facts(connection, number, trace)
            _save_calls(connection, trace)
            delete_note(connection, trace.run_id)

    def latest(self, limit: int = 100, *, every: bool = False, own: bool = False) -> list[RunSummary]:
        """Those that somebody asked for, newest first; with `every` those of evaluations too.

        `own`: those alone that were asked in the app.
        """
        c = runs.c
        found = select(c.id.label("run_id"), c.question, c.strategy, c.action, c.started_at, c.seconds, c.via)
        with self._database.read() as connection:
            if not every:
                found = found.where(asked_condition(connection.dialect))
            if own:
                found = found.where(c.via.in_(OWN))
            rows = connection.execute(found.order_by(c.number.desc()).limit(limit)).mappings()
            return [RunSummary(**row) for row in rows]

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first. A run that is stored again, under its old id, comes last."""
        with self._database.read() as connection:
            return list(connection.scalars(select(runs.c.id).order_by(runs.c.number)))

    def questions(self, ids: Sequence[str]) -> dict[str, str]:
        """What these runs asked, by their ids; ids of no run are left out."""
        with self._database.read() as connection:
            return dict(select_in(connection, select(runs.c.id, runs.c.question), runs.c.id, ids))

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
            with self._database.read() as connection:
                found = select_in(connection, select(runs.c.id, runs.c.trace), runs.c.id, some)
                texts = {row.id: row.trace for row in found}
            yield from (_read(id, texts[id]) for id in some if id in texts)

    def readable(self, ids: Sequence[str]) -> Iterator[Trace]:
        """Those of them that this build can read."""
        return (each for each in self.traces(ids) if isinstance(each, Trace))

    def delete(self, id: str) -> None:
        """With it all remembered web results go: they hold queries. Raises NotFoundError."""

        def removed(connection: Connection) -> None:
            if not connection.execute(delete(runs).where(runs.c.id == id)).rowcount:
                raise _unknown(id)
            connection.execute(delete(searches))

        self._database.free(removed)

    def spending(self, days: int = 30) -> list[DaySpending]:
        """Outside calls of the last `days` days (UTC), today included, also of runs deleted since, summed by day and
        model: latest day first, then by provider and model."""
        first = (datetime.now(UTC) - timedelta(days=days - 1)).date().isoformat()
        with self._database.read() as connection:
            return _sum_spending(connection, calls.c.at >= first)

    def _parsed(self, id: str, column: Literal["events", "trace"], parse: Callable[[str], T]) -> T:
        with self._database.read() as connection:
            text: str | None = connection.scalar(select(runs.c[column]).where(runs.c.id == id))
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
