"""Which documents a question names: an inverted index over their titles and first pages."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crag.core.types import Chunk
from crag.index.chunk_index import Numbers
from crag.retrieval.ranking import asked_terms, card_terms, years
from crag.storage.store import select_in
from crag.storage.tables import documents

_CARD = select(documents.c.number, documents.c.name, documents.c.title, documents.c.card)
_PAGE_CHARS = 2_000
_FEW = 25
"""Documents of the libraries on which the weight of names was chosen."""
_PAGE_WEIGHT = 0.25
"""A word on the first page says a quarter of what one in the title does: covers are full of addresses and law."""
_DOCUMENT = 0xFFFFFFFF


def first_page(chunks: Sequence[Chunk]) -> str:
    """The beginning of the first page that has text: where company, product, author and date stand."""
    first = min((chunk.page for chunk in chunks if chunk.page), default=0)
    return "\n".join(chunk.text for chunk in chunks if chunk.page == first)[:_PAGE_CHARS]


def _hashes(words: Collection[str]) -> Numbers:
    """A number for each word (n,), above the 32 bits of a document's; the same in every process."""
    return np.fromiter(map(crc32, map(str.encode, words)), np.int64, len(words)) >> 1 << 32


@dataclass(frozen=True, slots=True)
class Postings:
    """Which documents have which words: one number a pair (n,), ascending, of a word's hash and a document's number.

    Of a million words one in four thousand shares its hash, and is found with the other. No word is kept as it is.
    """

    pairs: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))

    def changed(self, gone: Numbers, added: Sequence[tuple[int, Collection[str]]]) -> Postings:
        """Without some documents, and with others and their words."""
        pairs = self.pairs[~np.isin(self.pairs & _DOCUMENT, gone)] if len(gone) else self.pairs
        new = np.sort(np.concatenate([pairs[:0], *(_hashes(words) | number for number, words in added)]))
        new = new[np.diff(new, prepend=-1) > 0]  # np.unique takes ten times as long
        return Postings(np.insert(pairs, np.searchsorted(pairs, new), new))

    def __getitem__(self, word: str) -> Numbers:
        """The documents with a word, ascending."""
        (hash,) = _hashes([word])
        first, behind = np.searchsorted(self.pairs, [hash, hash | _DOCUMENT])
        return self.pairs[first:behind] & _DOCUMENT


@dataclass(frozen=True, slots=True)
class TitleIndex:
    """Inverted index over documents' titles and first pages at one moment: `numbers` (n,) int64 ascending.

    Parting 8,000 documents into words takes seconds, so a change parts only those that it added.
    """

    numbers: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    titled: Postings = field(default_factory=Postings)
    paged: Postings = field(default_factory=Postings)
    """Of titles and first pages."""

    @classmethod
    def read(cls, connection: Connection, known: TitleIndex | None = None) -> TitleIndex:
        """The index as this transaction sees it; the words of documents in `known`, of the same library, are kept."""
        known = known or TitleIndex()
        numbers = np.array(sorted(connection.scalars(select(documents.c.number))), np.int64)
        added = np.setdiff1d(numbers, known.numbers, assume_unique=True)
        return known.changed(numbers, select_in(connection, _CARD, documents.c.number, added.tolist()))

    def changed(self, numbers: Numbers, added: Iterable[tuple[int, str, str, str]]) -> TitleIndex:
        """The index of these documents; of each that is `added` its number, name, title and first page."""
        titled, paged = list[tuple[int, set[str]]](), list[tuple[int, set[str]]]()
        for number, name, title, page in added:
            head = card_terms(f"{name.rpartition('.')[0] or name}\n{title}")
            titled.append((number, head))
            paged.append((number, head | card_terms(page)))
        gone = np.setdiff1d(self.numbers, numbers, assume_unique=True)
        return TitleIndex(numbers, self.titled.changed(gone, titled), self.paged.changed(gone, paged))

    def scores(self, question: str) -> NDArray[np.float32]:
        """How far the question names each document, shape (n,): its rare words there, each by its rarity.

        0 for a document that the question shares no word with. Words that all documents have count for next to nothing,
        so a library of one document, or a question that names none, is left to the chunks. Among more documents every
        word is rarer and tells no more: a name scores about the same among 25 documents and among 25,000.
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
            titled, paged = (np.searchsorted(self.numbers, each[term]) for each in (self.titled, self.paged))
            page = np.zeros(total, dtype=np.float32)
            page[paged] = _PAGE_WEIGHT * rarity(len(paged), total)
            page[titled] = rarity(len(titled), total)
            found += page
        return found * np.float32(math.log(_FEW) / math.log(max(total, _FEW)))


def rarity(having: int, total: int) -> float:
    """The weight BM25 gives a word that `having` of `total` documents have."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
