"""What documents say of themselves (name, title, first page), and which of them a question names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crag.core.types import Chunk
from crag.library.tables import documents
from crag.library.terms import asked_terms, card_terms, years

_PAGE_CHARS = 2_000
_PAGE_WEIGHT = 0.25
"""A word on the first page says a quarter of what one in the title does: covers are full of addresses and law."""


def first_page(chunks: Sequence[Chunk]) -> str:
    """The beginning of the first page that has text: where company, product, author and date stand."""
    first = min((chunk.page for chunk in chunks), default=0)
    return "\n".join(chunk.text for chunk in chunks if chunk.page == first)[:_PAGE_CHARS]


@dataclass(frozen=True, slots=True)
class Cards:
    """All documents' cards at one moment: `numbers` (n,) int64 ascending, and who has which word where."""

    numbers: NDArray[np.int64]
    _titled: dict[str, list[int]]
    _paged: dict[str, list[int]]

    @classmethod
    def read(cls, connection: Connection) -> Cards:
        """The cards as this transaction sees them."""
        numbers: list[int] = []
        titled: dict[str, list[int]] = {}
        paged: dict[str, list[int]] = {}
        said = select(documents.c.number, documents.c.name, documents.c.title, documents.c.card)
        for place, (number, name, title, page) in enumerate(connection.execute(said.order_by(documents.c.number))):
            numbers.append(number)
            head = card_terms(f"{name.rpartition('.')[0] or name}\n{title}")
            for term in head:
                titled.setdefault(term, []).append(place)
            for term in head | card_terms(page):
                paged.setdefault(term, []).append(place)
        return cls(np.array(numbers, dtype=np.int64), titled, paged)

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
            titled, paged = self._titled.get(term, []), self._paged.get(term, [])
            page = np.zeros(total, dtype=np.float32)
            page[paged] = _PAGE_WEIGHT * rarity(len(paged), total)
            page[titled] = rarity(len(titled), total)
            found += page
        return found


def rarity(having: int, total: int) -> float:
    """The weight BM25 gives a word that `having` of `total` documents have."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
