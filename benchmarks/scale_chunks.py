"""Libraries of any size that look like real ones: real chunks with other names, figures and years, as a stream.

A made document is a run of 50 to 200 chunks of a real one. Within it a name is always replaced by the same other name,
years move by the same number, and figures are drawn anew. Names that many real documents share stay; the others are
drawn as they occur in the real ones, the frequent ones often, and three in ten are new. So common words stay common,
and rare ones grow with the library. A made chunk's vector is its real one's, moved towards that one's neighbours and
then astray, by amounts that were chosen so that made chunks lie as near to one another as real ones do
(benchmarks/scale_likeness.py measures it).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale_sources import Sources
from crag.index.chunk_index import Batch

SEED = 14
PULL = 0.5
"""How far a made vector moves from its source towards a mixture of that one's neighbours, at the median."""
STRAY = 0.65
"""And then in a direction that any text's vector may have: the length of that step, at the median."""
VARIETY = 0.7
"""How much both differ from chunk to chunk: the deviation of their logarithms."""
SMALLEST, LARGEST = 50, 200
"""Chunks of a made document."""
_MIXED, _STRAYED = 4, 8
"""So many neighbours, and so many vectors of any other texts, are mixed."""
_NEW_NAMES = 0.3
_SHARED = 0.2
"""Names in more than this share of the real documents (countries, courts, forms) are in the made ones too."""
_OFTEN_LOWER = 0.05
_ENOUGH = 10
"""Digits drawn anew that make it certain enough that no two chunks are the same."""
_FORMAT = 1

_WORD = re.compile(r"[^\W\d_]{3,}")
# "10-K" names a kind of report, and stays.
_ALTERED = re.compile(r"\d+(?!\d*-[A-Z])|[^\W\d_]{3,}")
_NAME_PART = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday""".split()
)


@dataclass(frozen=True, slots=True)
class MadeDocument:
    """A document as a chunk index takes it, with a file's name and a title."""

    name: str
    title: str
    batch: Batch


class Maker:
    """Makes the documents of one endless library, the same ones for the same sources and seed. Holds the sources."""

    def __init__(
        self,
        sources: Sources,
        *,
        seed: int = SEED,
        pull: float = PULL,
        stray: float = STRAY,
        variety: float = VARIETY,
    ) -> None:
        self._sources = sources
        self._seed, self._pull, self._stray, self._variety = seed, pull, stray, variety
        self._names = _Names.of(sources)
        self.id = f"{_FORMAT}-{sources.id}-{seed}-{pull}-{stray}-{variety}"

    def documents(self, chunks: int) -> Iterator[MadeDocument]:
        """The library's first documents, numbered from 1, with `chunks` chunks in all, also numbered from 1."""
        for number, first, rows, count in self._plan(chunks):
            yield self._document(number, first, rows, count)

    def vectors(self, chunks: int) -> Iterator[NDArray[np.float32]]:
        """The vectors of those documents alone, one after the other."""
        for number, _, rows, count in self._plan(chunks):
            yield self._moved(number, rows)[:count]

    def added(self, number: int, first: int, chunks: int) -> MadeDocument:
        """One more document, of exactly so many chunks from `first` on."""
        return self._document(number, first, self._rows(number, chunks), chunks)

    def _plan(self, chunks: int) -> Iterator[tuple[int, int, NDArray[np.int64], int]]:
        """Number, first chunk, and source rows of each document, and of how many of them it is: the last is cut."""
        number, first = 1, 1
        while first <= chunks:
            size = int(np.random.default_rng([self._seed, number, 0]).integers(SMALLEST, LARGEST + 1))
            yield number, first, self._rows(number, size), min(size, chunks + 1 - first)
            number, first = number + 1, first + size

    def _rows(self, number: int, count: int) -> NDArray[np.int64]:
        """A run within one real document, which the longer ones are chosen for more often; from its end on again."""
        chance = np.random.default_rng([self._seed, number, 1])
        starts = self._sources.starts
        row = int(chance.integers(starts[-1]))
        document = int(np.searchsorted(starts, row, side="right")) - 1
        begin, length = int(starts[document]), int(starts[document + 1] - starts[document])
        return begin + (row - begin + np.arange(count)) % length

    def _moved(self, number: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Shape (len(rows), dimension), of length 1."""
        chance = np.random.default_rng([self._seed, number, 2])
        vectors, near = self._sources.vectors, self._sources.near[rows]
        count = len(rows)
        some = np.take_along_axis(near, chance.permuted(np.tile(np.arange(near.shape[1]), (count, 1)), axis=1), 1)
        shares = chance.standard_exponential((count, _MIXED), np.float32)
        towards = _mixed(shares / shares.sum(axis=1, keepdims=True), vectors[some[:, :_MIXED]])
        moved = _unit(vectors[rows] + self._far(chance, count, self._pull) * towards)
        others = vectors[chance.integers(len(vectors), size=(count, _STRAYED))]
        weights = chance.standard_normal((count, _STRAYED), np.float32) / np.float32(_STRAYED**0.5)
        return _unit(moved + self._far(chance, count, self._stray) * _mixed(weights, others))

    def _far(self, chance: np.random.Generator, count: int, median: float) -> NDArray[np.float32]:
        """Shape (count, 1)."""
        return np.asarray(median * np.exp(self._variety * chance.standard_normal((count, 1))), np.float32)

    def _document(self, number: int, first: int, rows: NDArray[np.int64], count: int) -> MadeDocument:
        sources = self._sources
        pen = _Pen(self._names, Random(f"{self._seed} {number}"))
        title = pen.heading(sources.titles[int(np.searchsorted(sources.starts, rows[0], side="right")) - 1][1])
        written = [
            (pen.heading(sources.contexts[row]), pen.text(sources.texts[row], first + place))
            for place, row in enumerate(rows[:count])
        ]
        batch = Batch(
            document=number,
            numbers=np.arange(first, first + count, dtype=np.int64),
            vectors=self._moved(number, rows)[:count],
            contexts=[context for context, _ in written],
            texts=[text for _, text in written],
        )
        name = "_".join(_NAME_PART.findall(title))[:60]
        return MadeDocument(f"{name}.pdf", title, batch)


def _mixed(weights: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weighted sum of k vectors for each of n rows: (n, k) and (n, k, dimension) give (n, dimension)."""
    return np.asarray(np.matmul(weights[:, None, :], vectors)[:, 0], np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@dataclass(frozen=True, slots=True)
class _Names:
    """What counts as a name: `replaced` in lower case, and `drawn` to replace it, the most frequent first."""

    replaced: frozenset[str]
    drawn: list[str]

    @classmethod
    def of(cls, sources: Sources) -> _Names:
        """The words that are written with a capital nearly always."""
        capital: Counter[str] = Counter()
        lower: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        starts = sources.starts.tolist()
        for begin, end in pairwise(starts):
            seen: set[str] = set()
            for text in sources.texts[begin:end]:
                for word in _WORD.findall(text):
                    (lower if word.islower() else capital)[word.lower()] += 1
                    seen.add(word.lower())
            documents.update(seen)
        named = [word for word, _ in capital.most_common() if lower[word] <= _OFTEN_LOWER * capital[word]]
        shared = _SHARED * sum(end > begin for begin, end in pairwise(starts))
        replaced = {word for word in named if documents[word] <= max(shared, 1) and word not in _CALENDAR}
        return cls(frozenset(replaced), [word for word in named if word in replaced])


class _Pen:
    """Writes one document: the same name becomes the same other name throughout, and a heading's figures too."""

    def __init__(self, names: _Names, chance: Random) -> None:
        self._names, self._chance = names, chance
        self._renamed: dict[str, str] = {}
        self._figures: dict[str, str] = {}
        self._years = chance.randint(-12, 6)
        self._changed = 0

    def text(self, text: str, number: int) -> str:
        """The text altered; where too little in it could be, the chunk's number makes it unlike all others."""
        self._changed = 0
        made = _ALTERED.sub(lambda match: self._figure(match[0]) or self._name(match[0]), text)
        return made if self._changed >= _ENOUGH else f"{made} (No. {number})"

    def heading(self, text: str) -> str:
        """Title, heading, or table header."""
        return _ALTERED.sub(
            lambda match: self._figures.setdefault(match[0], self._figure(match[0])) or self._name(match[0]), text
        )

    def _figure(self, word: str) -> str:
        """Another of the same length; a digit alone stays. Nothing where it is not a figure."""
        if not word[0].isdecimal():
            return ""
        if _YEAR.fullmatch(word):
            return str(int(word) + self._years)
        if len(word) == 1:
            return word
        self._changed += len(word)
        return str(self._chance.randrange(10 ** (len(word) - 1), 10 ** len(word)))

    def _name(self, word: str) -> str:
        if word.islower():
            return word
        key = word.lower()
        if key not in self._names.replaced:
            return word
        if key not in self._renamed:
            self._renamed[key] = self._drawn()
        other = self._renamed[key]
        return other.upper() if word.isupper() else other.capitalize()

    def _drawn(self) -> str:
        """A name by Zipf's law: the place of a frequent one is drawn as often as all places up to its double."""
        one = self._one()
        if self._chance.random() >= _NEW_NAMES:
            return one
        other = self._one()
        return one[: (len(one) + 1) // 2] + other[len(other) // 2 :]

    def _one(self) -> str:
        drawn = self._names.drawn
        return drawn[int(len(drawn) ** self._chance.random()) - 1]
