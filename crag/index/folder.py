"""What one process holds of an index's folder: opened, followed as others write to it, and written.

An index as it was at one commit: what a search looks at, whatever is written meanwhile.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray

from crag.index import lexical, manifest
from crag.index.chunk_index import Batch, Candidates, Contents, Numbers, Scores, Vectors
from crag.index.lexical import Lexical, Searcher
from crag.index.manifest import IndexCorruptError, Manifest, Mark, Record, translate_corruption
from crag.index.vectors import Dense, FlatSegment, IvfSegment, Mask

_FEW = 4096


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """Which rows a search may find. `count` is how many of them the main file has, `selector` tells FAISS which.

    `few` are those rows where they are few.
    """

    documents: Numbers | None
    count: int
    few: NDArray[np.int64] | None
    selector: Any
    tail: Mask
    only: Any


class View:
    """Never changed, save that the last choice of documents is remembered: the same one comes again and again."""

    def __init__(self, generation: int, main: IvfSegment | None, tail: FlatSegment, words: Searcher | None) -> None:
        self.generation = generation
        self._main = main
        self._tail = tail
        self._words = words
        self._chosen = self._all = self._among(
            None, main.rows.alive if main else np.zeros(0, np.bool_), tail.rows.alive
        )

    @property
    def size(self) -> int:
        return self._all.count + self._tail.rows.size

    def numbers(self) -> Numbers:
        """All chunks, ascending."""
        parts = [self._main.rows] if self._main else []
        return np.sort(np.concatenate([rows.numbers[rows.alive] for rows in (*parts, self._tail.rows)]))

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        """What `ChunkIndex.top` says. Raises IndexCorruptError where FAISS or tantivy fail over their files."""
        chosen = self._choice(documents)
        if not chosen.count and not chosen.tail.any():
            return Candidates.none()
        near, cosines = self._nearest(vector, k, chosen)
        with translate_corruption("the words can't be searched"):
            hits = [self._words.best(group, k, chosen.only) for group in words] if self._words else []
        numbers, where = np.unique(np.concatenate([near, *(found for found, _ in hits)]), return_inverse=True)
        dense = np.full(len(numbers), np.nan, np.float32)
        dense[where[: len(near)]] = cosines
        scores = np.zeros(len(numbers), np.float32)
        np.add.at(scores, where[len(near) :], np.concatenate([np.zeros(0, np.float32), *(each for _, each in hits)]))
        return self._living(vector, numbers, dense, scores)

    def _nearest(self, vector: Vectors, k: int, chosen: _Chosen) -> tuple[Numbers, Scores]:
        """The nearest chunks, and their cosines where they are known exactly."""
        rows, near = self._tail.best(vector, k, chosen.tail)
        numbers, cosines = self._tail.rows.numbers[rows], near
        if self._main and chosen.few is not None and len(chosen.few) <= k:
            # All of them, rather than a look into every cell for each.
            numbers = np.concatenate([numbers, self._main.rows.numbers[chosen.few]])
            return numbers, np.concatenate([near, np.full(len(chosen.few), np.nan, np.float32)])
        if self._main:
            with translate_corruption("the main file can't be searched"):
                rows, about = self._main.best(vector, k, chosen.count, chosen.selector)
            numbers = np.concatenate([numbers, self._main.rows.numbers[rows]])
            cosines = np.concatenate([near, np.full(len(rows), np.nan, np.float32)])
            near = np.concatenate([near, about])
        if len(numbers) > k:
            kept = np.argpartition(near, len(near) - k)[len(near) - k :]
            numbers, cosines = numbers[kept], cosines[kept]
        return numbers, cosines

    def _living(self, vector: Vectors, numbers: Numbers, dense: Scores, scores: Scores) -> Candidates:
        """Without chunks that only the words still know, and with the cosines of those that are in memory."""
        rows = self._tail.rows.at(numbers)
        unknown = np.flatnonzero((rows >= 0) & np.isnan(dense))
        dense[unknown] = self._tail.cosines(vector, rows[unknown])
        known: NDArray[np.bool_] = rows >= 0
        if self._main:
            known |= self._main.rows.at(numbers) >= 0
        return Candidates(numbers[known], dense[known], scores[known])

    def _choice(self, documents: Numbers | None) -> _Chosen:
        if documents is None:
            return self._all
        chosen = self._chosen
        if chosen.documents is None or not np.array_equal(chosen.documents, documents):
            mask = self._main.rows.of(documents) if self._main else np.zeros(0, np.bool_)
            chosen = self._chosen = self._among(documents.copy(), mask, self._tail.rows.of(documents))
        return chosen

    def _among(self, documents: Numbers | None, main: Mask, tail: Mask) -> _Chosen:
        count = int(np.count_nonzero(main))
        return _Chosen(
            documents,
            count,
            np.flatnonzero(main) if count <= _FEW else None,
            self._main.selector(main) if self._main else None,
            tail,
            None if documents is None else lexical.only(documents),
        )


MANIFEST, LOCK, MAKING = "manifest.json", "lock", "making"


@dataclass(slots=True, eq=False)
class IndexState:
    """The last commit that was read or written. `manifest` is None where there is none that can be believed."""

    mark: Mark
    manifest: Manifest | None
    dense: Dense
    words: Lexical | None

    @classmethod
    def nothing(cls, mark: Mark, contents: Contents) -> IndexState:
        return cls(mark, None, Dense(None, contents.dimension), None)

    def view(self) -> View:
        """What searches look at."""
        generation = self.manifest.generation if self.manifest else -1
        with translate_corruption("the words can't be opened"):
            words = self.words.searcher() if self.words else None
        return View(generation, self.dense.main, self.dense.tail, words)

    def follow(self, folder: Path, mark: Mark, found: Manifest) -> bool:
        """Take in what another process has committed; False where its files are others. Raises IndexCorruptError."""
        known = self.manifest
        if known is None or known.names != found.names or known.length > found.length:
            return False
        self.dense.apply(
            manifest.read_journal(folder / found.journal, known.length, found.length, found.contents.dimension)
        )
        self.mark, self.manifest = mark, found
        return True


def open_state(folder: Path, mark: Mark, found: Manifest) -> IndexState:
    """All that a manifest names, verified. Raises IndexCorruptError."""
    dimension = found.contents.dimension
    with translate_corruption("the index can't be read"):
        words = Lexical.open(folder / found.words, found.opstamp, found.size)
        main = IvfSegment.open(folder, found.cells, found.sums, dimension) if found.cells else None
    dense = Dense(main, dimension)
    dense.apply(manifest.read_journal(folder / found.journal, 0, found.length, dimension))
    if dense.size != found.size:
        raise IndexCorruptError("the journal is another")
    return IndexState(mark, found, dense, words)


def commit_changes(
    folder: Path, state: IndexState, contents: Contents, batches: Sequence[Batch], documents: set[int], generation: int
) -> tuple[IndexState, tantivy.IndexWriter | None]:
    """What is state after one commit that forgets the documents and then takes the batches in.

    With it the writer of the words, if there was something to write: it may still be merging. Raises OSError and
    IndexCorruptError; `state` is then of no more use.
    """
    known = state.manifest or _first(folder, contents)
    words = state.words or Lexical.make(folder / known.words)
    forgotten = np.array(sorted(documents), np.int64)
    record, texts = _join(batches, state.dense.numbers(forgotten), contents.dimension)
    writer, opstamp = None, known.opstamp
    if documents or len(record.numbers):
        again = state.dense.holds(record.numbers)
        if lexical.committed(folder / known.words) != opstamp:
            # A commit was cut off: what the words alone know of it must go, whichever chunks come now.
            there = words.searcher().numbers()
            again = np.union1d(np.setdiff1d(there, state.dense.holds(there)), again)
        writer, opstamp = _write_words(words, forgotten, again, record, texts)
    length = manifest.append(folder / known.journal, known.length, record)
    state.dense.apply([record])
    made = replace(known, generation=generation, size=state.dense.size, length=length, opstamp=opstamp)
    return IndexState(publish(folder, made), made, state.dense, words), writer


def replace_main(folder: Path, state: IndexState, start: int, main: IvfSegment | None) -> IndexState:
    """What is state once `main` stands in place of the file and of the first `start` rows that it was made from.

    All else that is state has come meanwhile and stays. None as `main`: what was dead is gone, and all is exact. Raises
    OSError.
    """
    known = state.manifest
    assert known is not None
    tail = state.dense.tail
    alive, died = np.flatnonzero(tail.rows.alive), np.zeros(0, np.int64)
    if main:
        # What has died since, or came again behind the rows that the file was made from.
        rows = tail.rows.at(main.rows.numbers)
        lives = (rows >= 0) & (rows < start)
        if state.dense.main:
            lives |= state.dense.main.rows.at(main.rows.numbers) >= 0
        died = main.rows.numbers[~lives]
        alive = alive[alive >= start]
    record = Record(died, tail.rows.numbers[alive], tail.rows.documents[alive], tail.vectors[alive])
    dense = Dense(main, known.contents.dimension)
    dense.apply([record])
    file = f"{fresh_name()}.journal"
    length = manifest.append(folder / file, 0, record)
    made = replace(
        known,
        journal=file,
        length=length,
        cells=main.name if main else "",
        sums=main.sums if main else (),
    )
    mark = publish(folder, made)
    sweep(folder, made.names)
    return IndexState(mark, made, dense, state.words)


def clear(folder: Path) -> None:
    """Forget everything. Raises OSError."""
    (folder / MANIFEST).unlink(missing_ok=True)
    sweep(folder, set())


def publish(folder: Path, made: Manifest) -> Mark:
    """Make a commit count. Raises OSError."""
    manifest.write(folder / MANIFEST, made)
    return manifest.mark(folder / MANIFEST)


def sweep(folder: Path, kept: set[str]) -> None:
    """Remove what no commit needs; what can't be removed stays until the next time."""
    for path in folder.iterdir():
        if path.name in kept or path.name in (MANIFEST, LOCK, MAKING):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def fresh_name() -> str:
    """A name that no file of an index ever had, so that none is taken for another."""
    return secrets.token_hex(8)


def _first(folder: Path, contents: Contents) -> Manifest:
    """What stands before the first commit."""
    sweep(folder, set())
    name = fresh_name()
    return Manifest(contents=contents, journal=f"{name}.journal", words=f"{name}.words")


def _join(batches: Sequence[Batch], dropped: Numbers, dimension: int) -> tuple[Record, list[tuple[str, str]]]:
    """The chunks of all batches, each number once, as it was added last; and the context and text of each."""
    numbers = np.concatenate([np.zeros(0, np.int64), *(each.numbers for each in batches)])
    documents = np.repeat([each.document for each in batches], [len(each.numbers) for each in batches])
    vectors = np.concatenate([np.zeros((0, dimension), np.float32), *(each.vectors for each in batches)])
    texts = [pair for each in batches for pair in zip(each.contexts, each.texts, strict=True)]
    last = np.sort(len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1])
    record = Record(dropped, numbers[last], documents[last].astype(np.int64), vectors[last].astype(np.float32))
    return record, [texts[row] for row in last.tolist()]


def _write_words(
    words: Lexical, documents: Numbers, again: Numbers, record: Record, texts: Sequence[tuple[str, str]]
) -> tuple[tantivy.IndexWriter, int]:
    """The words of one commit, and its number. Raises IndexCorruptError where tantivy fails: the disk may be full."""
    with translate_corruption("the words can't be written"):
        writer = words.writer()
        try:
            lexical.forget(writer, documents=documents, numbers=again)
            chunks = zip(record.numbers.tolist(), record.documents.tolist(), texts, strict=True)
            for number, document, (context, text) in chunks:
                lexical.add(writer, number, document, context, text)
            return writer, writer.commit()
        except BaseException:
            with suppress(ValueError):
                writer.rollback()
            with suppress(ValueError):
                writer.wait_merging_threads()  # It lets go of its lock, also while this error keeps the writer.
            raise
