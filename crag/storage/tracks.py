"""Track records: what runs said of each chunk over time, counted, and of documents as sums over their chunks."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Connection, Integer, func, select

from crag.core.trace import Trace, Track, track_chunks
from crag.storage import store
from crag.storage.tables import chunks, documents, tracks

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
