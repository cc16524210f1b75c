"""What is known of all documents at one moment, for search to choose among them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Numbers, Scores
from crag.library.cards import Cards

_NAMED = 8
"""So many documents that a question names are searched by themselves, too."""
_NEARLY = 0.5
"""The share of the best name's score that a document needs for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All documents of one generation of a library, n of them in order of number.

    `library` is the library's own id: what stands under a name may be another one later. `confidence` (n,) is how far
    each is trusted, 0..1; `added` (n,) when it was added, in seconds since the epoch.
    """

    library: str
    generation: int
    cards: Cards
    confidence: NDArray[np.float64]
    added: NDArray[np.float64]

    @property
    def numbers(self) -> Numbers:
        return self.cards.numbers

    def trusted(self, least: float) -> Numbers | None:
        """The documents whose confidence is at least `least`; None for all, also where none has it."""
        passes = self.confidence >= least
        return self.numbers[passes] if passes.any() and not passes.all() else None

    def decay(self, half_life_days: float, now: datetime) -> Scores:
        """What is left of each document's similarity (n,), 0..1, if it halves every so many days."""
        days = np.maximum(0.0, now.timestamp() - self.added) / 86_400
        return (0.5 ** (days / half_life_days)).astype(np.float32)

    def outstanding(self, named: Scores, among: Numbers | None = None) -> Numbers:
        """The documents that a question names before others, ascending: their chunks deserve a search of their own.

        `named` (n,) is what `cards.scores` says of the question.
        """
        if among is not None:
            named = np.where(np.isin(self.numbers, among, assume_unique=True), named, np.float32(0))
        best = np.argsort(-named, kind="stable")[:_NAMED]
        return np.sort(self.numbers[best[named[best] > _NEARLY * named.max(initial=0.0)]])


def seconds_of(added_at: str) -> float:
    """A time of the records (ISO 8601; UTC where it says no zone) in seconds since the epoch."""
    added = datetime.fromisoformat(added_at)
    return (added if added.tzinfo else added.replace(tzinfo=UTC)).timestamp()
