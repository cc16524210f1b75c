"""The protocol of a chunk index, and the values that go in and come out of it.

An index is a cache: the library's records are the truth. It knows chunks and documents by their numbers in the records,
which are never used twice, and keeps no more of them than what search needs. Why: docs/decisions/index.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Scores = NDArray[np.float32]
Vectors = NDArray[np.float32]


WORDS_ID = "pairs-1"
"""How texts become words. An index of other words is filled again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What an index belongs to. What it holds of anything else is of no use, and is never searched.

    `library` is the library's own id, made with it; `model` names what made the vectors; `dimension` is their length;
    `words` says how texts became words.
    """

    library: str
    model: str
    dimension: int
    words: str = WORDS_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Chunks of one document, n of them, as an index takes them.

    `numbers` (n,) ascending; `vectors` (n, dimension) of length 1, or zeros where a chunk has none yet; `contexts` what
    stands over each chunk (title, heading, table header), where a word counts as much as two in its text; `texts` the
    chunks' own words.
    """

    document: int
    numbers: Numbers
    vectors: Vectors
    contexts: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks worth ranking, m of them, each once, in no order.

    `numbers` (m,); `dense` (m,) the cosine with the question, exact to 0.001, or NaN where the index does not know it
    exactly; `lexical` (m,) BM25, 0 where no word was found or the chunk is not among the best by words.
    """

    numbers: Numbers
    dense: Scores
    lexical: Scores

    @classmethod
    def none(cls) -> Candidates:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.float32))

    def with_words(self) -> Candidates:
        """Those in which words were found."""
        found = self.lexical > 0
        return Candidates(self.numbers[found], self.dense[found], self.lexical[found])


class ChunkIndex(Protocol):
    """Finds the chunks of one library. Thread-safe.

    `add` and `delete` are taken back by a crash until `commit`, which makes all since the last one searchable at once.
    After the next start the generation may be an earlier one: what came after it is added and deleted again. A chunk
    that is there already stays as it is, unless its document is deleted before, in the same commit.

    Every method raises IndexUnavailableError where the index can't be reached or can't be read; the records are whole
    then, and it can be filled again from them.
    """

    name: str
    """What a person calls it: "embedded" or "milvus"."""
    keeps_words: bool
    """Whether words of what was deleted stay in files beside the library until `clear`, or until they are merged."""

    @property
    def generation(self) -> int:
        """Up to which change of the records everything is in it; -1 where it holds nothing that can be believed."""
        ...

    @property
    def size(self) -> int:
        """How many chunks were committed and not deleted since."""
        ...

    def add(self, batches: Sequence[Batch]) -> None:
        """Take chunks in. A document may come in several batches; a number stands for the same chunk each time."""
        ...

    def delete(self, documents: Sequence[int]) -> None:
        """Forget all chunks of these documents; unknown ones are passed over."""
        ...

    def commit(self, generation: int) -> None:
        """Make what was added and deleted since the last commit searchable, and note the generation."""
        ...

    def clear(self) -> None:
        """Forget everything of this library, at once; its generation is then -1."""
        ...

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        """The `k` nearest chunks to `vector` (dimension,), and for each group of `words` the `k` best by BM25.

        `words` are lower-case words as they were asked, not stems; the scores of the groups are added up. With
        `documents` (ascending) only their chunks count, as if there were no others. A chunk is never returned once
        its deletion is committed.
        """
        ...

    def numbers(self) -> Numbers:
        """All chunks that it holds, ascending: to be compared with the records."""
        ...

    def close(self) -> None:
        """Let go of files and connections; what was not committed is lost. Closing twice does nothing."""
        ...
