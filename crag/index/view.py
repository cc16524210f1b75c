"""What a search looks at: an index as it was at one commit, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crag.index import lexical
from crag.index.chunk_index import Candidates, Numbers, Scores, Vectors
from crag.index.lexical import Searcher
from crag.index.stamp import translate_corruption
from crag.index.vectors import Cells, Mask, Rows, places


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Which chunks a search may find: masks of cells and rows, how many are in cells, and the same as FAISS and tantivy
    take it.
    """

    documents: Numbers | None
    cells: Mask
    rows: Mask
    count: int
    selector: Any
    words: Any


class View:
    """The chunks of one generation.

    They never change. The last choice of documents is remembered, because the same one comes again and again.
    """

    def __init__(self, generation: int, cells: Cells, rows: Rows, words: Searcher | None) -> None:
        self.generation, self.cells, self.rows, self.words = generation, cells, rows, words
        self._all = self._last = self._choose(None, cells.alive, np.ones(len(rows.numbers), np.bool_))
        self.size = self._all.count + len(rows.numbers)

    def numbers(self) -> Numbers:
        """All chunks, ascending."""
        return np.sort(np.concatenate([self.cells.numbers[self.cells.alive], self.rows.numbers]))

    def holds(self, numbers: Numbers) -> Mask:
        """Which of the chunks (n,) are in it."""
        at = places(self.cells.numbers, numbers)
        there: Mask = places(self.rows.numbers, numbers) >= 0
        there[at >= 0] |= self.cells.alive[at[at >= 0]]
        return there

    def changed(self, generation: int, deleted: Numbers, added: Rows, words: Searcher) -> View:
        """Without the documents that were deleted, and with the chunks that it does not hold yet."""
        cells = self.cells.where(~np.isin(self.cells.documents, deleted))
        kept = View(generation, cells, self.rows.where(~np.isin(self.rows.documents, deleted)), words)
        return View(generation, cells, kept.rows.joined(added.where(~kept.holds(added.numbers))), words)

    def over(self, cells: Cells) -> View:
        """The same chunks, those in these cells no more as rows."""
        rows = self.rows.where(places(cells.numbers, self.rows.numbers) < 0)
        return View(self.generation, cells.where(self.holds(cells.numbers)), rows, self.words)

    def top(self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None) -> Candidates:
        """What `ChunkIndex.top` says. Raises IndexCorruptError where FAISS or tantivy fail over their files."""
        choice = self._choice(documents)
        if not choice.count and not choice.rows.any():
            return Candidates.none()
        cosines = self.rows.cosines(vector)
        near = self._nearest(vector, k, choice, cosines)
        with translate_corruption("the words can't be searched"):
            hits = [self.words.best(group, k, choice.words) for group in words] if self.words else []
        numbers, where = np.unique(np.concatenate([near, *(found for found, _ in hits)]), return_inverse=True)
        scores = np.zeros(len(numbers), np.float32)
        np.add.at(scores, where[len(near) :], np.concatenate([np.zeros(0, np.float32), *(each for _, each in hits)]))
        rows = places(self.rows.numbers, numbers)
        dense = np.full(len(numbers), np.nan, np.float32)
        dense[rows >= 0] = cosines[rows[rows >= 0]]
        held = self.holds(numbers)  # Words may know chunks of a later commit, or of one that was cut off.
        return Candidates(numbers[held], dense[held], scores[held])

    def _nearest(self, vector: Vectors, k: int, choice: _Choice, cosines: Scores) -> Numbers:
        """The nearest chunks: the scores of 8 bits are good enough to choose by."""
        numbers, scores = self.rows.numbers[choice.rows], cosines[choice.rows]
        if choice.count > k:
            others, about = self.cells.best(vector, k, choice.count, choice.selector)
            numbers, scores = np.concatenate([numbers, others]), np.concatenate([scores, about])
        if len(numbers) > k:
            numbers = numbers[np.argpartition(scores, len(scores) - k)[len(scores) - k :]]
        if choice.count > k:
            return numbers
        # All of them, rather than a look into every cell for each.
        return np.concatenate([numbers, self.cells.numbers[choice.cells]])

    def _choice(self, documents: Numbers | None) -> _Choice:
        if documents is None:
            return self._all
        last = self._last
        if last.documents is None or not np.array_equal(last.documents, documents):
            cells = self.cells.alive & np.isin(self.cells.documents, documents)
            last = self._last = self._choose(documents.copy(), cells, np.isin(self.rows.documents, documents))
        return last

    def _choose(self, documents: Numbers | None, cells: Mask, rows: Mask) -> _Choice:
        words = None if documents is None else lexical.only(documents)
        return _Choice(documents, cells, rows, int(np.count_nonzero(cells)), self.cells.selector(cells), words)
