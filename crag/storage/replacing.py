"""What a document takes over from the one in whose place it comes: people's fields and labels, and track records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from crag.storage import store
from crag.storage.tables import chunks, documents, labels, tracks


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
