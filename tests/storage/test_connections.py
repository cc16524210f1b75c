"""SQLite's connections: those that are kept for reuse, and the write-ahead log turned on by several at once."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from crag.storage.sqlite import Idle, connect, driver, write_ahead


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


def test_idle_connections_are_whole_few_and_closed_in_the_end(tmp_path: Path) -> None:
    idle = Idle()
    made = [connect(tmp_path / "library.db") for _ in range(6)]
    assert idle.take() is None
    for each in made[:5]:
        idle.give_back(each)
    assert [each.closed for each in made[:5]] == [False] * 4 + [True]
    taken = idle.take()
    assert taken is made[3]
    driver(taken).execute("BEGIN")
    idle.give_back(taken)
    assert taken.closed, "it was left in the middle of something"
    idle.rest()
    assert all(each.closed for each in made[:3]) and idle.take() is None
    idle.end()
    idle.give_back(made[5])
    assert made[5].closed, "it was out while that happened"
