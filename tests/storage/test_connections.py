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


def test_idle_connections_are_of_one_file_whole_few_and_closed_in_the_end(tmp_path: Path) -> None:
    idle, first, second = Idle(), (1, 1), (1, 2)
    made = [connect(tmp_path / "library.db") for _ in range(7)]
    assert idle.take(first) is None
    for each in made[:5]:
        idle.give_back(first, each)
    assert [each.closed for each in made[:5]] == [False] * 4 + [True]
    taken = idle.take(first)
    assert taken is made[3]
    driver(taken).execute("BEGIN")
    idle.give_back(first, taken)
    assert taken.closed, "it was left in the middle of something"
    assert idle.take(second) is None and all(each.closed for each in made[:3]), "the file was replaced"
    idle.give_back(first, made[5])
    assert made[5].closed, "it was out while that happened"
    idle.give_back(second, made[6])
    idle.rest()
    assert made[6].closed and idle.take(second) is None
    idle.end()
    last = connect(tmp_path / "library.db")
    idle.give_back(second, last)
    assert last.closed
