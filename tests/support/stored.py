"""Runs and a library that a real engine wrote, from tests/data.

tests/data/runs: over the sample library (three chunks retrieved, at most two pages of the web), with the loopback world
of failing_servers.py where a service was to fail. library.sql: a PDF of two pages, indexed with all-MiniLM-L6-v2.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from crag.core.events import Event, events_from_jsonl

__all__ = ["RUNS", "stored_library", "stored_run"]

DATA = Path(__file__).resolve().parents[1] / "data"
RUNS = sorted(path.stem for path in (DATA / "runs").glob("*.jsonl"))


def stored_run(name: str) -> list[Event]:
    """The events of a run of tests/data/runs."""
    return events_from_jsonl((DATA / "runs" / f"{name}.jsonl").read_text(encoding="utf-8"))


def stored_library(folder: Path) -> Path:
    """Make `folder` the folder of the stored library."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a wait for the disk after each statement is for nobody
        connection.executescript((DATA / "library.sql").read_text(encoding="utf-8"))
    return folder
