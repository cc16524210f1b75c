"""What search holds in memory of a library, always as fresh as the transaction that asks."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from crag.library import store
from crag.library.cards import Cards
from crag.library.vectors import VectorFile, Vectors


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One generation of a library: all vectors, and what the documents say of themselves.

    `library` is the library's own id: what stands under a name may be another one later.
    """

    library: str
    generation: int
    vectors: Vectors
    cards: Cards


class Snapshots:
    """Hands out the snapshot of the generation that a read transaction sees. Thread-safe."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the vector cache file; None: there is none."""
        self._file = VectorFile(path)
        self._lock = threading.Lock()
        self._current: Snapshot | None = None

    def get(self, connection: Connection) -> Snapshot:
        """From memory if nothing changed, in this process or another, since it was made; else made anew."""
        library, generation = store.meta(connection, "library"), int(store.meta(connection, "generation"))
        current = self._current
        if current is not None and (current.library, current.generation) == (library, generation):
            return current
        with self._lock:
            current = self._current
            if current is not None and (current.library, current.generation) == (library, generation):
                return current
            made = Snapshot(library, generation, self._file.load(connection), Cards.read(connection))
            # A reader that began before the last change must not turn the clock back for the others.
            if current is None or current.library != library or current.generation < generation:
                self._current = made
            return made

    def forget(self) -> None:
        """Free the memory; the next search loads it again."""
        with self._lock:
            self._current = None
