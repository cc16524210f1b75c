"""Question sets, evaluations and their results, as JSON that the library keeps and does not interpret."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, Connection, and_, delete, func, insert, select, update

from crag.core.errors import NotFoundError
from crag.core.runfacts import DaySpending
from crag.storage.database import Part
from crag.storage.deletions import delete_wording
from crag.storage.runs import spending_of
from crag.storage.tables import evaluations, question_sets, results
from crag.storage.tables import runs as stored_runs
from crag.text import memory
from crag.text.formats import iso_now

_DONE = select(func.count()).select_from(results).where(results.c.evaluation == evaluations.c.number).scalar_subquery()
_RECORD = select(
    *(evaluations.c[name] for name in ("id", "strategy", "settings", "parts", "started_at", "finished_at")),
    evaluations.c.question_set.label("set_id"),
    question_sets.c.name.label("set_name"),
    question_sets.c.questions,
    _DONE.label("done"),
).join_from(evaluations, question_sets)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSet:
    """One line of the list of sets: how many questions it holds, and how many problems its file had.

    `id` is made from the questions: the same ones are stored once. `added_at` is ISO 8601, UTC.
    """

    id: str
    name: str
    kind: str
    questions: int
    problems: int
    added_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """One strategy over one set; `settings` is JSON. `finished_at` is "" until all `questions` are done."""

    id: str
    set_id: str
    set_name: str
    strategy: str
    settings: str
    parts: str
    questions: int
    done: int
    started_at: str
    finished_at: str


class Evaluations(Part):
    """A library's question sets, and what came of asking them. Thread-safe, across processes too.

    Results refer to their runs by id only: they stay whole when a run, a chunk or a document goes.
    """

    # Sets

    def save_set(self, id: str, name: str, kind: str, questions: int, problems: int, content: str) -> None:
        """Store a set; one of the same id takes the new name, kind and content and keeps its evaluations."""
        again = {"name": name, "kind": kind, "problems": problems, "content": content}
        added_at = datetime.now(UTC).isoformat(timespec="microseconds")  # finer: sets are listed by it
        with self._database.write(more=len(content)) as connection:
            if not connection.execute(update(question_sets).where(question_sets.c.id == id).values(again)).rowcount:
                new = {**again, "id": id, "questions": questions, "added_at": added_at}
                connection.execute(insert(question_sets).values(new))

    def sets(self) -> list[StoredSet]:
        """All sets, the latest first."""
        c = question_sets.c
        listed = select(c.id, c.name, c.kind, c.questions, c.problems, c.added_at).order_by(c.added_at.desc(), c.id)
        return self._records(StoredSet, listed)

    def set_content(self, id: str) -> str:
        """What was given to `save_set`. Raises NotFoundError."""
        found: str | None = self._scalar(select(question_sets.c.content).where(question_sets.c.id == id))
        if found is None:
            raise _no_set(id)
        return found

    def delete_set(self, id: str) -> None:
        """Delete a set with its evaluations and their results; runs stay. Raises NotFoundError."""

        def removed(connection: Connection) -> None:
            if not connection.execute(delete(question_sets).where(question_sets.c.id == id)).rowcount:
                raise _no_set(id)

        self._database.free(removed)
        memory.forget([])

    # Evaluations

    def begin(
        self,
        set_id: str,
        strategy: str,
        *,
        settings: str,
        parts: str,
        key: str,
        restart: bool = False,
        finished_too: bool = False,
    ) -> EvaluationRecord:
        """The latest unfinished evaluation under `key`, with `finished_too` the latest at all; else a new one.

        With `restart` always a new one. Raises NotFoundError.
        """
        with self._database.write() as connection:
            if connection.execute(select(question_sets.c.id).where(question_sets.c.id == set_id)).first() is None:
                raise _no_set(set_id)
            found = _RECORD.where(evaluations.c.key == key)
            if not finished_too:
                found = found.where(evaluations.c.finished_at == "")
            latest = connection.execute(found.order_by(evaluations.c.number.desc()).limit(1)).mappings().first()
            if latest is not None and not restart:
                return EvaluationRecord(**latest)
            row = {"id": secrets.token_hex(8), "question_set": set_id, "started_at": iso_now(), "finished_at": ""}
            row |= {"strategy": strategy, "settings": settings, "parts": parts, "key": key}
            connection.execute(insert(evaluations).values(row))
            return _record(connection, row["id"])

    def all(self) -> list[EvaluationRecord]:
        """Newest first."""
        return self._records(EvaluationRecord, _RECORD.order_by(evaluations.c.number.desc()))

    def get(self, id: str) -> EvaluationRecord:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return _record(connection, id)

    def finish(self, id: str) -> None:
        """Note the time at which the last result came, once. Raises NotFoundError."""
        with self._database.write(grows=False) as connection:
            its_own = and_(evaluations.c.number == _number(connection, id), evaluations.c.finished_at == "")
            connection.execute(update(evaluations).where(its_own).values(finished_at=iso_now()))

    def delete(self, id: str, *, runs: bool = False) -> None:
        """Delete an evaluation with its results, and with `runs` what it left in the history. Raises NotFoundError.

        With its runs all that goes with a run, see `Runs.delete`.
        """

        def removed(connection: Connection) -> list[str]:
            connection.execute(delete(evaluations).where(evaluations.c.number == _number(connection, id)))
            if not runs:
                return []
            first, behind = _its_runs(id)
            its_own = delete(stored_runs).where(stored_runs.c.id >= first, stored_runs.c.id < behind)
            delete_wording(connection)
            return list(connection.scalars(its_own.returning(stored_runs.c.id)))

        memory.forget([id, *self._database.free(removed)])

    def spending(self, id: str) -> list[DaySpending]:
        """What its runs' outside calls took, also of runs deleted since, by day and model. Raises NotFoundError."""
        with self._database.read() as connection:
            _number(connection, id)
            return spending_of(connection, *_its_runs(id))

    # Results

    def save_result(self, id: str, place: int, row: str) -> bool:
        """Store the result of the question at `place`, unless there is one: then False. Raises NotFoundError."""
        with self._database.write() as connection:
            number = _number(connection, id)
            if _has(connection, number, place):
                return False
            connection.execute(insert(results).values(evaluation=number, place=place, row=row))
            return True

    def drop_results(self, id: str, places: Iterable[int]) -> None:
        """Forget the results at these places, so that their questions are asked again. Raises NotFoundError."""
        with self._database.write(grows=False) as connection:
            its_own = results.c.evaluation == _number(connection, id)
            connection.execute(delete(results).where(its_own, results.c.place.in_(list(places))))

    def has_result(self, id: str, place: int) -> bool:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return _has(connection, _number(connection, id), place)

    def places(self, id: str) -> list[int]:
        """The places that have a result, ascending. Raises NotFoundError."""
        return self._list_results(id, results.c.place)

    def results(self, id: str) -> list[str]:
        """All results in the order of the set. Raises NotFoundError."""
        return self._list_results(id, results.c.row)

    def _list_results(self, id: str, column: Column[Any]) -> list[Any]:
        with self._database.read() as connection:
            its_own = results.c.evaluation == _number(connection, id)
            return list(connection.scalars(select(column).where(its_own).order_by(results.c.place)))


def _has(connection: Connection, number: int, place: int) -> bool:
    found = select(results.c.place).where(results.c.evaluation == number, results.c.place == place)
    return connection.execute(found).first() is not None


def _record(connection: Connection, id: str) -> EvaluationRecord:
    row = connection.execute(_RECORD.where(evaluations.c.id == id)).mappings().first()
    if row is None:
        raise _no_evaluation(id)
    return EvaluationRecord(**row)


def _its_runs(id: str) -> tuple[str, str]:
    """The first id of an evaluation's runs and one behind the last: they begin with its own and "-"; "." follows."""
    return f"{id}-", f"{id}."


def _number(connection: Connection, id: str) -> int:
    number: int | None = connection.scalar(select(evaluations.c.number).where(evaluations.c.id == id))
    if number is None:
        raise _no_evaluation(id)
    return number


def _no_set(id: str) -> NotFoundError:
    return NotFoundError(f"There is no question set {id[:12]} in this library.")


def _no_evaluation(id: str) -> NotFoundError:
    return NotFoundError(f"There is no evaluation {id} in this library.")
