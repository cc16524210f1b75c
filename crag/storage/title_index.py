"""What documents say of themselves (name, title, first page), and which of them a question names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crag.core.types import Chunk
from crag.index.chunk_index import Numbers
from crag.retrieval.terms import asked_terms, years
from crag.storage.segments import FULL, IndexSegment, stacked
from crag.storage.tables import documents

_PAGE_CHARS = 2_000
_PAGE_WEIGHT = 0.25
"""A word on the first page says a quarter of what one in the title does: covers are full of addresses and law."""


def first_page(chunks: Sequence[Chunk]) -> str:
    """The beginning of the first page that has text: where company, product, author and date stand."""
    first = min((chunk.page for chunk in chunks), default=0)
    return "\n".join(chunk.text for chunk in chunks if chunk.page == first)[:_PAGE_CHARS]


@dataclass(frozen=True, slots=True)
class TitleIndex:
    """All documents' cards at one moment: `numbers` (n,) int64 ascending, and who has which word where.

    The words stand in decks: telling those of 8,000 documents takes seconds, so a change tells those of the documents
    that it brought, and decks keep documents that are deleted since, which count for nothing.
    """

    numbers: Numbers
    _decks: tuple[IndexSegment, ...]

    @classmethod
    def read(cls, connection: Connection, known: TitleIndex | None = None) -> TitleIndex:
        """The cards as this transaction sees them; the words of documents in `known`, of the same library, are kept."""
        numbers = np.array(connection.execute(select(documents.c.number)).scalars().all(), np.int64)
        numbers.sort()
        decks = known._decks if known is not None else ()
        held = sum(len(deck.numbers) for deck in decks)
        last = decks[-1].numbers[-1] if held else 0
        added = int(np.sum(numbers > last))
        if len(numbers) - added < held / 2:
            decks, last, added = (), 0, len(numbers)
        if added:
            said = select(documents.c.number, documents.c.name, documents.c.title, documents.c.card)
            said = said.where(documents.c.number > int(last)).order_by(documents.c.number)
            for rows in connection.execute(said, execution_options={"yield_per": FULL}).partitions():
                decks = stacked(
                    decks, IndexSegment.of([(number, name, title, page) for number, name, title, page in rows])
                )
        return cls(numbers, decks)

    def scores(self, question: str) -> NDArray[np.float32]:
        """How far the question names each document, shape (n,): its rare words on the card, each by its rarity.

        0 for a document none of whose card the question mentions. Words on every card count for next to nothing,
        so a library of one document, or a question that names none, is left to the chunks.
        """
        total = len(self.numbers)
        found = np.zeros(total, dtype=np.float32)
        terms = asked_terms(question)
        # "from 2020 to 2022" is answered by the report on 2022, which looks back.
        latest = max(years(terms), default="")
        earlier = set(years(terms)) - {latest}
        for term in terms:
            if term in earlier:
                continue
            titled = self._present([deck.numbers[deck.titled[term]] for deck in self._decks])
            paged = self._present([deck.numbers[deck.paged[term]] for deck in self._decks])
            page = np.zeros(total, dtype=np.float32)
            page[paged] = _PAGE_WEIGHT * rarity(len(paged), total)
            page[titled] = rarity(len(titled), total)
            found += page
        return found

    def _present(self, having: Sequence[Numbers]) -> Numbers:
        """Documents by their numbers, as places in `numbers`; without those that are deleted since."""
        numbers = np.concatenate([self.numbers[:0], *having])
        places = np.searchsorted(self.numbers, numbers)
        there = places < len(self.numbers)
        there[there] = self.numbers[places[there]] == numbers[there]
        return places[there]


def rarity(having: int, total: int) -> float:
    """The weight BM25 gives a word that `having` of `total` documents have."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
