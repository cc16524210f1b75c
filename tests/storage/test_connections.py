"""SQLite's connections: those that are kept for reuse, and the write-ahead log turned on by several at once."""

import sqlite3
import threading
import tracemalloc
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from crag.storage.library import NewVectors
from crag.storage.sqlite import write_ahead


def opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)


def test_who_turns_the_log_on_while_another_writes_waits_for_it(tmp_path: Path) -> None:
    """Without a wait of SQLite's own: it has none where two turn it on at one moment."""
    path = tmp_path / "library.db"
    with closing(opened(path)) as other, closing(opened(path)) as file:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            file.execute("PRAGMA journal_mode = WAL")
        ends = threading.Timer(0.1, other.execute, ("COMMIT",))
        ends.start()
        write_ahead(file)
        ends.join()
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# What a library keeps in memory is bounded, and a change reads what changed


def test_new_vectors_are_read_back_by_number_in_batches() -> None:
    rows = np.arange(40, dtype=np.float32).reshape(10, 4)
    with NewVectors(4) as made:
        made.add([3, 1, 7], rows[:3])
        made.add([2], rows[3:4])
        assert len(made) == 4 and 7 in made and 8 not in made
        ((numbers, found),) = made.batches([1, 2, 7])
        assert numbers == [1, 2, 7] and found.tolist() == rows[[1, 3, 2]].tolist()
        assert [*made.batches([])] == []


def test_new_vectors_are_not_in_memory() -> None:
    rows = np.ones((1_000, 256), np.float32)
    tracemalloc.start()
    with NewVectors(256) as made:
        for at in range(0, 40_000, 1_000):
            made.add([*range(at, at + 1_000)], rows)
        for _numbers, found in made.batches([*range(40_000)]):
            assert found.sum() == found.size
        _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000 < 40_000 * 256 * 4
