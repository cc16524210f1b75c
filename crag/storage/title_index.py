"""Which documents a question names: an inverted index over their titles and first pages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from crag.core.types import Chunk
from crag.index.chunk_index import Numbers
from crag.retrieval.ranking import asked_terms, card_words, forms, runs_together, years
from crag.storage.store import select_in
from crag.storage.tables import documents

Places = NDArray[np.int32]

FULL = 1000
"""Documents of a segment that is not joined with others."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Which places have each of m words: those of `terms[word]` stand from `starts[row]` to `starts[row + 1]`.

    `starts` is (m + 1,) int64; `places` are ascending for each word, each once.
    """

    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    places: Places

    @classmethod
    def of(cls, texts: Sequence[str], places: Sequence[int]) -> Postings:
        """The words of texts as `card_terms` has them, each text standing at a place; several may share one."""
        ids = defaultdict[str, int](count().__next__)
        found = [card_words(text) for text in texts]
        words = np.fromiter(map(ids.__getitem__, chain.from_iterable(found)), np.int64)
        at = np.repeat(np.array(places, np.int64), [len(each) for each in found])
        text = np.repeat(np.arange(len(texts)), [len(each) for each in found])
        single = list(ids)
        plain = np.fromiter(map(runs_together, single), bool, len(single))
        # Two words as one number: there are ten times as many pairs to be distinguished as strings to be made of them.
        beside = (text[1:] == text[:-1]) & plain[words[1:]] & plain[words[:-1]]
        pairs, pair_of = np.unique(words[:-1][beside] << 32 | words[1:][beside], return_inverse=True)
        joined = [ids[single[pair >> 32] + single[pair & 0xFFFFFFFF]] for pair in pairs.tolist()]
        kept = [(words, at), (np.array(joined, np.int64)[pair_of], at[:-1][beside])]
        short = [(row, form) for row in np.flatnonzero(~plain).tolist() for form in forms(single[row])]
        for row, form in short:
            having = at[words == row]
            kept.append((np.full(len(having), ids[form]), having))
        return _sort_postings(dict(ids), *(np.concatenate(each) for each in zip(*kept, strict=True)))

    def __getitem__(self, word: str) -> Places:
        row = self.terms.get(word)
        return self.places[self.starts[row] : self.starts[row + 1]] if row is not None else self.places[:0]

    def joined(self, later: Postings, offset: int) -> Postings:
        """With those of `later`, whose places are counted from `offset`."""
        terms = dict(self.terms)
        moved = np.fromiter((terms.setdefault(word, len(terms)) for word in later.terms), np.int64, len(later.terms))
        rows = np.concatenate([self._rows(), moved[later._rows()]])
        return _sort_postings(terms, rows, np.concatenate([self.places, later.places + offset]))

    def _rows(self) -> NDArray[np.int64]:
        """The word of each of `places`."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def _sort_postings(terms: dict[str, int], rows: NDArray[np.int64], places: NDArray[np.int64]) -> Postings:
    both = np.sort(rows << 32 | places)
    both = both[np.flatnonzero(np.diff(both, prepend=-1))]  # np.unique takes ten times as long
    starts = np.searchsorted(both, np.arange(len(terms) + 1, dtype=np.int64) << 32)
    return Postings(terms, starts, (both & 0xFFFFFFFF).astype(np.int32))


@dataclass(frozen=True, slots=True)
class IndexSegment:
    """Some documents: `numbers` (n,) int64, and which of them have which word in title or first page."""

    numbers: Numbers
    titled: Postings
    paged: Postings

    @classmethod
    def of(cls, said: Sequence[tuple[int, str, str, str]]) -> IndexSegment:
        """From number, name, title and first page of each document, in order of number."""
        heads = [f"{name.rpartition('.')[0] or name}\n{title}" for _, name, title, _ in said]
        places = range(len(said))
        return cls(
            np.array([number for number, *_ in said], np.int64),
            Postings.of(heads, places),
            Postings.of([*heads, *(page for *_, page in said)], [*places, *places]),
        )

    def joined(self, later: IndexSegment) -> IndexSegment:
        """This one's documents and those of a later one."""
        offset = len(self.numbers)
        return IndexSegment(
            np.concatenate([self.numbers, later.numbers]),
            self.titled.joined(later.titled, offset),
            self.paged.joined(later.paged, offset),
        )


def add_segment(segments: tuple[IndexSegment, ...], new: IndexSegment) -> tuple[IndexSegment, ...]:
    """The segments with one more.

    But for full ones, each is at least twice as large as the next: there are few, and they are seldom joined.
    """
    while segments and len(segments[-1].numbers) < min(FULL, 2 * len(new.numbers)):
        *rest, last = segments
        segments, new = tuple(rest), last.joined(new)
    return (*segments, new)


_PAGE_CHARS = 2_000
_FEW = 25
"""Documents of the libraries on which the weight of names was chosen."""
_PAGE_WEIGHT = 0.25
"""A word on the first page says a quarter of what one in the title does: covers are full of addresses and law."""


def first_page(chunks: Sequence[Chunk]) -> str:
    """The beginning of the first page that has text: where company, product, author and date stand."""
    first = min((chunk.page for chunk in chunks if chunk.page), default=0)
    return "\n".join(chunk.text for chunk in chunks if chunk.page == first)[:_PAGE_CHARS]


@dataclass(frozen=True, slots=True)
class TitleIndex:
    """Inverted index over documents' titles and first pages at one moment: `numbers` (n,) int64 ascending.

    It is kept as mergeable segments: parting 8,000 documents into words takes seconds, so a change parts only those
    that it added, and those of segments with a document that it deleted: no word of that one stays.
    """

    numbers: Numbers
    _segments: tuple[IndexSegment, ...]

    @classmethod
    def read(cls, connection: Connection, known: TitleIndex | None = None) -> TitleIndex:
        """The index as this transaction sees it; the words of documents in `known`, of the same library, are kept."""
        numbers = np.array(connection.execute(select(documents.c.number)).scalars().all(), np.int64)
        numbers.sort()
        known_segments = known._segments if known is not None else ()
        segments = tuple(each for each in known_segments if np.isin(each.numbers, numbers, assume_unique=True).all())
        held = np.concatenate([numbers[:0], *(each.numbers for each in segments)])
        added = np.setdiff1d(numbers, held, assume_unique=True)
        c = documents.c
        said = select(c.number, c.name, c.title, c.card).order_by(c.number)
        for at in range(0, len(added), FULL):
            rows = select_in(connection, said, c.number, added[at : at + FULL].tolist())
            segments = add_segment(segments, IndexSegment.of(sorted(map(tuple, rows))))
        return cls(numbers, segments)

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
            titled = self._present([segment.numbers[segment.titled[term]] for segment in self._segments])
            paged = self._present([segment.numbers[segment.paged[term]] for segment in self._segments])
            page = np.zeros(total, dtype=np.float32)
            page[paged] = _PAGE_WEIGHT * rarity(len(paged), total)
            page[titled] = rarity(len(titled), total)
            found += page
        return found * np.float32(math.log(_FEW) / math.log(max(total, _FEW)))

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
