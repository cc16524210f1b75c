"""What one process holds of an index's folder: opened, followed as others write to it, and written."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tantivy

from crag.index import journal, lexical, manifest
from crag.index.chunk_index import Batch, Contents, Numbers
from crag.index.journal import Record
from crag.index.lexical import Lexical
from crag.index.manifest import IndexCorruptError, Manifest, Mark, translate_corruption
from crag.index.vectors import Dense, IvfSegment
from crag.index.view import View

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
        self.dense.apply(journal.read(folder / found.journal, known.length, found.length, found.contents.dimension))
        self.mark, self.manifest = mark, found
        return True


def open_state(folder: Path, mark: Mark, found: Manifest) -> IndexState:
    """All that a manifest names, verified. Raises IndexCorruptError."""
    dimension = found.contents.dimension
    with translate_corruption("the index can't be read"):
        words = Lexical.open(folder / found.words, found.opstamp, found.size)
        main = IvfSegment.open(folder, found.cells, found.sums, dimension) if found.cells else None
    dense = Dense(main, dimension)
    dense.apply(journal.read(folder / found.journal, 0, found.length, dimension))
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
    length = journal.append(folder / known.journal, known.length, record)
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
    length = journal.append(folder / file, 0, record)
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
