"""What is known of all documents at one moment, for search to choose among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from crag.core.errors import FilterError
from crag.core.filters import EVERY, Filter, check, narrow_filter, scope_of
from crag.core.metadata import Fields, Value, fields_of, kept_from_web, known_fields
from crag.core.types import Chunk, Document, FromWeb
from crag.index.chunk_index import Numbers, Scores
from crag.storage import search_rows, store
from crag.storage.title_index import TitleIndex

_NAMED = 8
"""At most this many documents that a question names are searched by themselves, too."""
_FILTERS = 32
"""Filters whose documents are remembered at most: clients name filters, so they are bounded."""
_NEARLY = 0.5
"""The share of the best name's score that a document needs for that."""


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """All documents of one generation of a library, n of them in order of number.

    `library` is the library's own id: what stands under a name may be another one later. `documents` are their records
    with the fields that people gave them.
    """

    library: str
    generation: int
    titles: TitleIndex
    documents: Sequence[tuple[Document, Fields]]

    @classmethod
    def read(cls, connection: Connection, about: store.Meta, earlier: Catalog | None = None) -> Catalog:
        """All documents as this transaction sees them; what an `earlier` one of this library knew is not read again.

        `about`: what the transaction knows of the library.
        """
        library, now = about.library, about.generation
        known = earlier if earlier is not None and earlier.library == library else None
        changed = search_rows.changes_between(connection, known.generation, now) if known is not None else None
        documents: dict[int, tuple[Document, Fields]] = {}
        if known is not None and changed is not None:
            documents.update(zip(known.numbers.tolist(), known.documents, strict=True))
        names = {number: document.name for number, (document, _) in documents.items()}
        documents.update(store.read_documents(connection, None if changed is None else list(changed)))
        renamed = any(documents[number][0].name != name for number, name in names.items())
        titles = TitleIndex.read(connection, known.titles if known is not None and not renamed else None)
        held = [documents[number] for number in titles.numbers.tolist()]
        return cls(library=library, generation=now, titles=titles, documents=held)

    @cached_property
    def fields(self) -> list[dict[str, Value]]:
        """All fields of each document, its own and those that were given to it."""
        return [fields_of(document, given) for document, given in self.documents]

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """How far each document is trusted (n,), 0..1."""
        return np.array([each["confidence"] for each in self.fields], np.float64)

    @cached_property
    def added(self) -> NDArray[np.float64]:
        """When each was added (n,), in seconds since the epoch."""
        return np.array([_seconds(document.added_at) for document, _ in self.documents], np.float64)

    @property
    def numbers(self) -> Numbers:
        return self.titles.numbers

    def allowed(self, where: Filter, least: float) -> Numbers | None:
        """The documents that a search may use, ascending; None for all.

        Those that meet the filter `where`, and of these the ones whose confidence is at least `least`, if any has it.
        Raises FilterError for a filter that asks for what no document has, or lets none through.
        """
        if not where and least <= 0:
            return None
        if not where:
            passes = self.confidence >= least
            return self.numbers[passes] if passes.any() and not passes.all() else None
        met = self._meeting(where)
        passes = np.isin(self.numbers, met, assume_unique=True) & (self.confidence >= least)
        return self.numbers[passes] if passes.any() else met

    @cached_property
    def _meeting(self) -> Callable[[Filter], Numbers]:
        """The documents that meet a filter; remembered, since one filter is asked many times."""

        @lru_cache(_FILTERS)
        def meeting(where: Filter) -> Numbers:
            check(where, known_fields(self.fields))
            met: Numbers = self.numbers[np.fromiter(map(where.matches, self.fields), bool, len(self.fields))]
            if not len(met):
                raise _none_meets(where)
            return met

        return meeting

    def decay(self, half_life_days: float, now: datetime) -> Scores:
        """What is left of each document's similarity (n,), 0..1, if it halves every `half_life_days`."""
        days = np.maximum(0.0, now.timestamp() - self.added) / 86_400
        return (0.5 ** (days / half_life_days)).astype(np.float32)

    def sourced(self, chunk: Chunk, place: int) -> Chunk:
        """The chunk with what is known of its document, the one at this place: its date, and where it came from."""
        document, given = self.documents[place]
        if date := self.fields[place].get("date"):
            chunk = replace(chunk, dated=str(date))
        if not document.url:
            return chunk
        kept = kept_from_web(given)
        from_web: FromWeb = "" if not kept else "verified" if given.get("verified") is True else "unverified"
        return replace(chunk, url=document.url, from_web=from_web)

    def outstanding(self, named: Scores, among: Numbers | None = None) -> Numbers:
        """The documents that a question names before others, ascending: their chunks deserve a search of their own.

        `named` (n,) is what `titles.scores` says of the question.
        """
        if among is not None:
            named = np.where(np.isin(self.numbers, among, assume_unique=True), named, np.float32(0))
        best = np.argsort(-named, kind="stable")[:_NAMED]
        return np.sort(self.numbers[best[named[best] > _NEARLY * named.max(initial=0.0)]])


def _none_meets(where: Filter) -> FilterError:
    scope = scope_of(where)
    if not scope.documents or narrow_filter(EVERY, scope) != where:
        return FilterError(f"No document of the library meets the filter {where}.", "Loosen it, or leave it out.")
    said = "None of the documents that this is asked of is in the library any more."
    return FilterError(said, "Choose others, or ask all documents.")


def _seconds(added_at: str) -> float:
    """A time of the records (ISO 8601; UTC where it says no zone) in seconds since the epoch."""
    added = datetime.fromisoformat(added_at)
    return (added if added.tzinfo else added.replace(tzinfo=UTC)).timestamp()
