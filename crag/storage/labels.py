"""Labels and votes that people gave, what an evaluator learned from them, and what runs said of chunks over time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Integer, and_, delete, func, insert, or_, select, update

from crag.core.errors import NotFoundError
from crag.core.trace import Trace, Track, track_chunks
from crag.storage import store
from crag.storage.records import Records
from crag.storage.tables import chunks, documents, evaluations, labels, meta, tracks
from crag.text.formats import iso_now

_ADAPTATION = "adaptation"
"""Its key in `meta`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's word on one chunk for one question. `at` is ISO 8601, UTC."""

    question: str
    chunk_id: str
    label: Literal["relevant", "irrelevant"]
    at: str


class Labels:
    """A library's labels. Thread-safe, across processes too."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def save(self, question: str, chunk_id: str, label: Literal["relevant", "irrelevant"]) -> None:
        """Store a label, in place of an earlier one on the same chunk and question. Raises NotFoundError."""
        at = iso_now()
        row = {"chunk": chunk_id, "question": question, "label": label, "at": at}
        with self._database.write() as connection:
            if connection.execute(select(chunks.c.number).where(chunks.c.id == chunk_id)).first() is None:
                raise NotFoundError(f"There is no chunk {chunk_id} in this library.")
            connection.execute(delete(labels).where(_on(question, chunk_id)))
            connection.execute(insert(labels).values(row))

    def delete(self, question: str, chunk_id: str) -> None:
        """Take a label back, if there is one."""
        statement = delete(labels).where(_on(question, chunk_id))
        self._database.free(lambda connection: connection.execute(statement))

    def all(self) -> list[Label]:
        """Oldest first."""
        c = labels.c
        kept = select(c.question, c.chunk.label("chunk_id"), c.label, c.at).order_by(c.at, c.chunk)
        with self._database.read() as connection:
            return [Label(**row) for row in connection.execute(kept).mappings()]

    def adaptation(self) -> str:
        """What the evaluator learned and this library uses, as JSON that is not interpreted here; empty of nothing."""
        with self._database.read() as connection:
            return connection.scalars(select(meta.c.value).where(meta.c.key == _ADAPTATION)).one_or_none() or ""

    def save_adaptation(self, content: str) -> None:
        """Use this from now on, in place of what was learned before."""
        with self._database.write(more=len(content)) as connection:
            store.put(connection, meta, [{"key": _ADAPTATION, "value": content}])

    def delete_adaptation(self) -> None:
        """Use nothing from now on."""
        self._database.free(lambda connection: connection.execute(delete(meta).where(meta.c.key == _ADAPTATION)))


def _on(question: str, chunk_id: str) -> ColumnElement[bool]:
    return and_(labels.c.chunk == chunk_id, labels.c.question == question)


_NAMES = [each.name for each in fields(Track)]
_NUMBER = select(chunks.c.id, chunks.c.number)
_TRACK = select(chunks.c.id, *(tracks.c[name] for name in _NAMES)).join_from(tracks, chunks)


def note(connection: Connection, trace: Trace) -> None:
    """Add what a run says of the chunks that it retrieved to their records; of those that are here no more, nothing."""
    said = track_chunks(trace)
    ids = list(said)
    numbers = {id: number for id, number in store.select_in(connection, _NUMBER, chunks.c.id, ids)}
    before = {id: _track(values) for id, *values in store.select_in(connection, _TRACK, chunks.c.id, ids)}
    rows = [{"chunk": number, **asdict(before.get(id, Track()).after(said[id]))} for id, number in numbers.items()]
    if rows:
        store.put(connection, tracks, rows)


def of_document(connection: Connection, number: int) -> dict[str, Track]:
    """The records of a document's chunks, by the chunk's id; of those that no run retrieved, none."""
    found = connection.execute(_TRACK.where(chunks.c.document == number))
    return {id: _track(values) for id, *values in found}


def of_documents(connection: Connection) -> dict[str, Track]:
    """The records of all documents, by the document's id, each the sum over its chunks; none of those never found.

    Of their times the latest.
    """
    t = tracks.c
    sums = (func.sum(each, type_=Integer).label(each.name) for each in (t.retrieved, t.used, t.graded))
    latest = (func.max(each).label(each.name) for each in (t.last_at, t.last_used))
    asked = (
        select(documents.c.id, *sums, func.sum(t.score_sum).label("score_sum"), *latest)
        .select_from(tracks.join(chunks).join(documents, documents.c.number == chunks.c.document))
        .group_by(documents.c.id)
    )
    rows = (dict(row) for row in connection.execute(asked).mappings())
    return {row.pop("id"): Track(**row) for row in rows}


def _track(values: list[Any]) -> Track:
    return Track(**dict(zip(_NAMES, values, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """How many labels, and track records of chunks, had no chunk to go to; whether the words before were `verified`."""

    labels: int
    records: int
    verified: bool


def take_over(connection: Connection, old: int, new: int, its: Iterable[tuple[str, str, int]]) -> Lost:
    """Give the document `new` what the one `old` was given, both by number, in its caller's transaction.

    Fields, but that it is verified: a person said that of other words. Labels and records go to the chunk that says
    the same; of several, the first to the first. `its`: text, id and number of the new one's chunks, in order.
    """
    meta = connection.scalars(select(documents.c.meta).where(documents.c.number == old)).one()
    given = {name: value for name, value in meta.items() if name != "verified"}
    connection.execute(update(documents).where(documents.c.number == new).values(meta=given))
    same: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for text, id, number in its:
        same[text].append((id, number))
    c = chunks.c
    before = connection.execute(select(c.text, c.id, c.number).where(c.document == old).order_by(c.ordinal)).all()
    lost_labels = lost_records = 0
    for text, id, number in before:
        if same[text]:
            new_id, new_number = same[text].pop(0)
            connection.execute(update(labels).where(labels.c.chunk == id).values(chunk=new_id))
            connection.execute(update(tracks).where(tracks.c.chunk == number).values(chunk=new_number))
        else:
            lost_labels += store.count(connection, labels, labels.c.chunk == id)
            lost_records += store.count(connection, tracks, tracks.c.chunk == number)
    return Lost(labels=lost_labels, records=lost_records, verified=meta.get("verified") is True)


VOTE = "vote "
"""Begins the key of a vote in `meta`; the two evaluations' ids and the question's follow."""


class Votes:
    """A library's votes. Thread-safe, across processes too. The two evaluations may be named in any order."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def save(self, pair: tuple[str, str], question_id: str, choice: str) -> None:
        """Store which evaluation's answer is better, by its id, "both" or "neither", in place of an earlier vote.

        Raises NotFoundError where one of the evaluations was deleted, ValueError for another choice.
        """
        if choice not in (*pair, "both", "neither"):
            raise ValueError(f"{choice} is none of the choices")
        value = json.dumps({"choice": choice, "at": datetime.now(UTC).isoformat(timespec="microseconds")})
        known = select(evaluations.c.id).where(evaluations.c.id.in_(pair))
        with self._database.write() as connection:
            if len(connection.execute(known).all()) < len(set(pair)):
                raise NotFoundError("One of the two evaluations was deleted.")
            store.put(connection, meta, [{"key": f"{_prefix(pair)}{question_id}", "value": value}])

    def delete(self, pair: tuple[str, str], question_id: str) -> None:
        """Take a vote back, if there is one."""
        its_own = meta.c.key == f"{_prefix(pair)}{question_id}"
        self._database.free(lambda connection: connection.execute(delete(meta).where(its_own)))

    def of(self, pair: tuple[str, str]) -> dict[str, str]:
        """The choices by question id, the oldest first."""
        prefix = _prefix(pair)
        with self._database.read() as connection:
            asked = select(meta.c.key, meta.c.value).where(meta.c.key.startswith(prefix, autoescape=True))
            found: Mapping[str, dict[str, str]] = {
                key.removeprefix(prefix): json.loads(value) for key, value in connection.execute(asked)
            }
        return {id: found[id]["choice"] for id in sorted(found, key=lambda id: found[id]["at"])}


def forget_votes(connection: Connection, evaluation_id: str) -> None:
    """Delete the votes on an evaluation, in its caller's transaction."""
    key = meta.c.key
    named = or_(key.startswith(f"{VOTE}{evaluation_id} "), key.like(f"{VOTE}% {evaluation_id} %"))
    connection.execute(delete(meta).where(named))


def _prefix(pair: tuple[str, str]) -> str:
    first, second = sorted(pair)
    return f"{VOTE}{first} {second} "
