"""Question sets, evaluations and their results, as JSON that the library keeps and does not interpret."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from crag.core.errors import NotFoundError
from crag.core.meter import DaySpending
from crag.library.database import Database
from crag.library.runs import spending_of

_RECORD = """
SELECT e.id, e.question_set, s.name, e.strategy, e.settings, e.parts, s.questions,
    (SELECT count(*) FROM results r WHERE r.evaluation = e.number), e.started_at, e.finished_at
FROM evaluations e JOIN question_sets s ON s.id = e.question_set
"""


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


class Evaluations:
    """A library's question sets, and what came of asking them. Thread-safe, across processes too.

    Results refer to their runs by id only: they stay whole when a run, a chunk or a document goes.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # Sets

    def save_set(self, id: str, name: str, kind: str, questions: int, problems: int, content: str) -> None:
        """Store a set; one of the same id takes the new name, kind and content and keeps its evaluations."""
        with self._database.write(more=len(content)) as connection:
            connection.execute(
                "INSERT INTO question_sets VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "name = excluded.name, kind = excluded.kind, problems = excluded.problems, content = excluded.content",
                (id, name, kind, questions, problems, _now(), content),
            )

    def sets(self) -> list[StoredSet]:
        """All sets, the latest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, name, kind, questions, problems, added_at FROM question_sets "
                "ORDER BY added_at DESC, rowid DESC"
            ).fetchall()
        return [
            StoredSet(id=id, name=name, kind=kind, questions=questions, problems=problems, added_at=at)
            for id, name, kind, questions, problems, at in rows
        ]

    def set_content(self, id: str) -> str:
        """What was given to `save_set`. Raises NotFoundError."""
        with self._database.read() as connection:
            row = connection.execute("SELECT content FROM question_sets WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise _no_set(id)
        return str(row[0])

    def delete_set(self, id: str) -> None:
        """Delete a set with its evaluations and their results; runs stay. Raises NotFoundError."""

        def removed(connection: sqlite3.Connection) -> None:
            if not connection.execute("DELETE FROM question_sets WHERE id = ?", (id,)).rowcount:
                raise _no_set(id)

        self._database.free(removed)

    # Evaluations

    def begin(
        self,
        set_id: str,
        strategy: str,
        *,
        settings: str,
        parts: str,
        key: str,
        anew: bool = False,
        finished_too: bool = False,
    ) -> EvaluationRecord:
        """The latest unfinished evaluation under `key`, with `finished_too` the latest at all; else a new one.

        With `anew` always a new one. Raises NotFoundError.
        """
        with self._database.write() as connection:
            if not connection.execute("SELECT 1 FROM question_sets WHERE id = ?", (set_id,)).fetchone():
                raise _no_set(set_id)
            found = connection.execute(
                f"{_RECORD} WHERE e.key = ? AND (e.finished_at = '' OR ?) ORDER BY e.number DESC LIMIT 1",
                (key, finished_too),
            ).fetchone()
            if found is not None and not anew:
                return _named(found)
            id = secrets.token_hex(8)
            connection.execute(
                "INSERT INTO evaluations (id, question_set, strategy, settings, parts, key, started_at, finished_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, '')",
                (id, set_id, strategy, settings, parts, key, _now()),
            )
            return _record(connection, id)

    def all(self) -> list[EvaluationRecord]:
        """Newest first."""
        with self._database.read() as connection:
            rows = connection.execute(f"{_RECORD} ORDER BY e.number DESC").fetchall()
        return [_named(row) for row in rows]

    def get(self, id: str) -> EvaluationRecord:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            return _record(connection, id)

    def finish(self, id: str) -> None:
        """Note the time at which the last result came, once. Raises NotFoundError."""
        with self._database.write() as connection:
            number = _number(connection, id)
            connection.execute(
                "UPDATE evaluations SET finished_at = ? WHERE number = ? AND finished_at = ''", (_now(), number)
            )

    def delete(self, id: str, *, runs: bool = False) -> None:
        """Delete an evaluation with its results, and with `runs` what it left in the history. Raises NotFoundError.

        With its runs all remembered web results go: they hold queries.
        """

        def removed(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM evaluations WHERE number = ?", (_number(connection, id),))
            if runs:
                connection.execute("DELETE FROM runs WHERE id >= ? AND id < ?", _its_runs(id))
                connection.execute("DELETE FROM searches")

        self._database.free(removed)

    def spending(self, id: str) -> list[DaySpending]:
        """What its runs' outside calls took, also of runs deleted since, by day and model. Raises NotFoundError."""
        with self._database.read() as connection:
            _number(connection, id)
            return spending_of(connection, *_its_runs(id))

    # Results

    def save_result(self, id: str, place: int, row: str) -> bool:
        """Store the result of the question at `place`, unless there is one: then False. Raises NotFoundError."""
        with self._database.write() as connection:
            values = (_number(connection, id), place, row)
            return connection.execute("INSERT OR IGNORE INTO results VALUES (?, ?, ?)", values).rowcount == 1

    def drop_results(self, id: str, places: Iterable[int]) -> None:
        """Forget the results at these places, so that their questions are asked again. Raises NotFoundError."""
        with self._database.write() as connection:
            number = _number(connection, id)
            connection.executemany(
                "DELETE FROM results WHERE evaluation = ? AND place = ?", [(number, place) for place in places]
            )

    def has_result(self, id: str, place: int) -> bool:
        """Raises NotFoundError."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT 1 FROM results WHERE evaluation = ? AND place = ?", (_number(connection, id), place)
            )
            return found.fetchone() is not None

    def places(self, id: str) -> list[int]:
        """The places that have a result, ascending. Raises NotFoundError."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT place FROM results WHERE evaluation = ? ORDER BY place", (_number(connection, id),)
            )
            return [int(row[0]) for row in rows]

    def results(self, id: str) -> list[str]:
        """All results in the order of the set. Raises NotFoundError."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT row FROM results WHERE evaluation = ? ORDER BY place", (_number(connection, id),)
            )
            return [str(row[0]) for row in rows]


def _record(connection: sqlite3.Connection, id: str) -> EvaluationRecord:
    row = connection.execute(f"{_RECORD} WHERE e.id = ?", (id,)).fetchone()
    if row is None:
        raise _no_evaluation(id)
    return _named(row)


def _named(row: tuple[Any, ...]) -> EvaluationRecord:
    return EvaluationRecord(**dict(zip(EvaluationRecord.__slots__, row, strict=True)))


def _its_runs(id: str) -> tuple[str, str]:
    """The first id of an evaluation's runs and one behind the last: they begin with its own and "-"; "." follows."""
    return f"{id}-", f"{id}."


def _number(connection: sqlite3.Connection, id: str) -> int:
    row = connection.execute("SELECT number FROM evaluations WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise _no_evaluation(id)
    return int(row[0])


def _no_set(id: str) -> NotFoundError:
    return NotFoundError(f"There is no question set {id[:12]} in this library.")


def _no_evaluation(id: str) -> NotFoundError:
    return NotFoundError(f"There is no evaluation {id} in this library.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
