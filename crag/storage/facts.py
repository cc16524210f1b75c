"""The figures of runs, a row each beside the run itself: what tells of ten thousand runs without reading their records.

They are made when a run is stored, in its transaction, and go with it when it is deleted. Of runs that earlier versions
stored they are made once, from their records, when somebody wants them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, func, insert, select

from crag.core.runfacts import DaySpending, RunFacts, figures_of
from crag.core.trace import Trace
from crag.core.types import Document
from crag.storage.records import Records
from crag.storage.store import count, select_in
from crag.storage.tables import facts, runs, was_asked

_BATCH = 100
"""Records of runs that are in memory at once."""
_PLAIN = (
    *("started_at", "strategy", "via", "action", "outcome", "evaluator", "scope", "best", "upper"),
    *("lower", "searches", "rewrites", "seconds", "waited", "faithfulness"),
)
"""The fields that have a column each; the others lie together in `detail`."""

_KNOWN = [runs.c[name] for name in ("number", "id", "strategy", "action", "started_at", "seconds", "via", "trace")]
"""What figures are made of."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How many runs there are, of how many the figures are made, and the highest number among these."""

    runs: int
    made: int
    last: int


class Facts:
    """A library's figures of runs. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Records, workspace: str) -> None:
        """`workspace` is the library's name, which no row repeats: a private one may be given another."""
        self._database, self._workspace = database, workspace

    def standing(self) -> Standing:
        """Whether anything has changed, at little cost."""
        with self._database.read() as connection:
            made, last = connection.execute(select(func.count(), func.max(facts.c.run)).select_from(facts)).one()
            return Standing(count(connection, runs), made, last or 0)

    def since(self, number: int = 0) -> list[tuple[int, RunFacts]]:
        """The figures of runs whose number is above this, with it, in the order in which they were stored."""
        asked = select(facts).where(facts.c.run > number).order_by(facts.c.run)
        with self._database.read() as connection:
            return [(row["run"], _read(dict(row), self._workspace)) for row in connection.execute(asked).mappings()]

    def of(self, ids: Sequence[str]) -> dict[str, RunFacts]:
        """The figures of these runs by their ids; of those that are gone or have none, nothing."""
        with self._database.read() as connection:
            rows = select_in(connection, select(facts), facts.c.id, ids)
            return {row.id: _read(dict(row._mapping), self._workspace) for row in rows}

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

    def fill(self, most: int = _BATCH) -> int:
        """Make the figures of so many runs that have none, the newest first; how many are left.

        A run whose record can't be read is "unreadable" from then on.
        """
        lacking = runs.outerjoin(facts, facts.c.run == runs.c.number)
        numbers = select(runs.c.number).select_from(lacking).where(facts.c.run.is_(None)).order_by(runs.c.number.desc())
        with self._database.read() as connection:
            left = list(connection.scalars(numbers))
        for at in range(0, min(most, len(left)), _BATCH):
            with self._database.write() as connection:
                wanted = left[at : at + min(_BATCH, most - at)]
                # Looked at again under the lock: another process may have done the work in between.
                missing = select(*_KNOWN).select_from(lacking).where(facts.c.run.is_(None), runs.c.number.in_(wanted))
                rows = [
                    _row(row["number"], _compute_facts(dict(row))) for row in connection.execute(missing).mappings()
                ]
                if rows:
                    connection.execute(insert(facts), rows)
        return max(0, len(left) - most)


def note(connection: Connection, number: int, trace: Trace) -> None:
    """Store the figures of the run of this number."""
    connection.execute(insert(facts), [_row(number, figures_of(trace))])


def _compute_facts(row: Mapping[str, Any]) -> RunFacts:
    """Of a stored run; of one that can't be read, what the history lists."""
    try:
        return figures_of(Trace.from_json(row["trace"]))
    except ValidationError:
        return RunFacts(
            run_id=row["id"],
            workspace="",
            started_at=row["started_at"],
            strategy=row["strategy"],
            via=row["via"],
            action=row["action"] or "",
            outcome="unreadable",
            seconds=row["seconds"],
        )


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


def _read(row: Mapping[str, Any], workspace: str) -> RunFacts:
    detail = json.loads(row["detail"])
    day = str(row["started_at"])[:10]
    names = DaySpending.__slots__
    detail["used"] = tuple(
        DaySpending(**dict(zip(names, (day, *each), strict=True))) for each in detail.get("used", ())
    )
    detail["cited"] = tuple(detail.get("cited", ()))
    return RunFacts(run_id=row["id"], workspace=workspace, **{name: row[name] for name in _PLAIN}, **detail)
