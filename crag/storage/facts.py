"""Figures of each run, in a row beside it, so that ten thousand runs are counted without reading their records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select

from crag.core.runfacts import DaySpending, RunFacts, figures_of
from crag.core.trace import Trace
from crag.core.types import Document
from crag.storage.database import Database, Part
from crag.storage.store import select_in
from crag.storage.tables import facts, runs, was_asked

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


class Facts(Part):
    """A library's figures of runs. Thread-safe, across processes too. Every method raises StorageError."""

    def __init__(self, database: Database, workspace: str) -> None:
        """`workspace` is the library's name, which no row repeats: a private one may be given another."""
        super().__init__(database)
        self._workspace = workspace

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
    said = json.dumps(whole, separators=(",", ":"), ensure_ascii=False)
    return {"run": number, "id": made.run_id, **{name: getattr(made, name) for name in _PLAIN}, "detail": said}


def _read_facts(row: Mapping[str, Any], workspace: str) -> RunFacts:
    detail = json.loads(row["detail"])
    day = str(row["started_at"])[:10]
    names = DaySpending.__slots__
    detail["used"] = tuple(
        DaySpending(**dict(zip(names, (day, *each), strict=True))) for each in detail.get("used", ())
    )
    detail["cited"] = tuple(detail.get("cited", ()))
    return RunFacts(run_id=row["id"], workspace=workspace, **{name: row[name] for name in _PLAIN}, **detail)
