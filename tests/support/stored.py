"""Runs and a library that a real engine wrote, from tests/data.

tests/data/runs: over the sample library (three chunks retrieved, at most two pages of the web), with the loopback world
of failing_servers.py where a service was to fail. library.sql: a PDF of two pages, indexed with a model of an earlier
version, under whose name the one in use stands.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from crag.core.events import Event, events_from_jsonl
from crag.core.types import INDEXED_AS
from crag.models.runtime import E5

__all__ = ["RUNS", "stored_library", "stored_run"]

DATA = Path(__file__).resolve().parents[1] / "data"
_MADE_BY = "all-minilm-l6-v2-int8-1/headings-amountless-1"
RUNS = sorted(path.stem for path in (DATA / "runs").glob("*.jsonl"))


def stored_run(name: str) -> list[Event]:
    """The events of a run of tests/data/runs."""
    return events_from_jsonl((DATA / "runs" / f"{name}.jsonl").read_text(encoding="utf-8"))


def stored_library(folder: Path, *, renamed: bool = True) -> Path:
    """Make `folder` the folder of the stored library. `renamed`: its model has the name of the one in use."""
    folder.mkdir(parents=True)
    script = (DATA / "library.sql").read_text(encoding="utf-8")
    if renamed:
        script = script.replace(_MADE_BY, f"{E5.id}/{INDEXED_AS}").replace(_MADE_BY.partition("/")[0], E5.id)
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a wait for the disk after each statement is for nobody
        connection.executescript(script)
    return folder
