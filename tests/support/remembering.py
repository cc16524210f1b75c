"""The shipped models, for tests of other things than the models: what many tests read is read once, and kept."""

import hashlib
import os
import pickle
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TypeVar

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from crag.evaluation.local import LocalEvaluator
from crag.models.any_language import MODEL_ID as ANY_ID
from crag.models.any_language import AnyLanguage
from crag.models.cross_encoder import MODEL_ID, CrossEncoder, Reading
from crag.models.runtime import E5

FOLDER = "TEST_VECTORS"
"""Names, in the environment, the folder that all processes of the tests share, and the next run: see readings.py."""
_PATIENCE = 60
"""Seconds that one process waits while another writes."""
_LONG = 32
"""So many texts at once take the models seconds."""

T = TypeVar("T")
Read = Callable[[str, Sequence[str]], list[Reading | None]]


class RememberingE5(E5):
    """Embeds as E5 does, but reads the vectors of texts that a process of the tests has embedded before."""

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def fresh(places: list[int]) -> list[NDArray[np.float32]]:
            return list(super(RememberingE5, self)._embed(prefix, [texts[place] for place in places]))

        return np.array(_known([(self.id, prefix, text) for text in texts], fresh), np.float32)


class RememberingEvaluator(LocalEvaluator):
    """Grades as the local evaluator does, from readings that a process of the tests has made before."""

    def __init__(self, threads: int = 0, embedder: E5 | None = None) -> None:
        super().__init__(threads, embedder=embedder)
        self._english_reader = _RememberingEnglish(threads)
        self._any_reader = _RememberingAny(embedder or E5(threads), threads)


class _RememberingEnglish(CrossEncoder):
    def read(self, question: str, texts: Sequence[str]) -> list[Reading | None]:
        return _read(super().read, MODEL_ID, question, texts)


class _RememberingAny(AnyLanguage):
    def read(self, question: str, texts: Sequence[str]) -> list[Reading | None]:
        return _read(super().read, ANY_ID, question, texts)


def _read(read: Read, id: str, question: str, texts: Sequence[str]) -> list[Reading | None]:
    def fresh(places: list[int]) -> list[Reading | None]:
        return read(question, [texts[place] for place in places])

    return _known([(id, question, text) for text in texts], fresh)


_writing = threading.Lock()
"""One thread of a process at a time; between processes, the file's own locks decide."""


def _known(asked: Sequence[tuple[str, ...]], make: Callable[[list[int]], Sequence[T]]) -> list[T]:
    """What was asked for, in order; `make` is given the places of what no process has made."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return list(make(list(range(len(asked)))))
    keys = [hashlib.sha256(repr(each).encode()).digest() for each in asked]
    places = {key: place for place, key in reversed(list(enumerate(keys)))}
    found: dict[bytes, T] = _made(Path(folder), places)
    # Who begins a long reading does it for all: the others would read the same at the same time.
    alone = FileLock(Path(folder) / "reading.lock") if len(places) - len(found) >= _LONG else nullcontext()
    with alone:
        if isinstance(alone, FileLock):
            found = _made(Path(folder), places)
        todo = {key: place for key, place in places.items() if key not in found}
        if todo:
            made = dict(zip(todo, make(list(todo.values())), strict=True))
            rows = [(key, pickle.dumps(value)) for key, value in made.items()]
            with _writing, _opened(Path(folder)) as store, store:
                store.executemany("INSERT OR IGNORE INTO made VALUES (?, ?)", rows)
            found |= made
    return [found[key] for key in keys]


def _made(folder: Path, keys: Iterable[bytes]) -> dict[bytes, T]:
    with _opened(folder) as store:
        rows = ((key, store.execute("SELECT value FROM made WHERE key = ?", (key,)).fetchone()) for key in keys)
        return {key: pickle.loads(row[0]) for key, row in rows if row is not None}


def _opened(folder: Path) -> closing[sqlite3.Connection]:
    store = sqlite3.connect(folder / "made.db", timeout=_PATIENCE)
    store.execute("PRAGMA synchronous = OFF")
    store.execute("CREATE TABLE IF NOT EXISTS made (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
    return closing(store)
