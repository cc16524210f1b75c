"""SQLite's connections: those that are kept for reuse, and the write-ahead log turned on by several at once."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

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
