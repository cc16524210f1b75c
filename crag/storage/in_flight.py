"""Work in a library that is not finished: a killed program's work is shown, not lost.

A note is written before the work begins and goes with its end. One whose program is gone was cut off.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, delete, select

from crag.core.errors import LibraryError
from crag.storage import store
from crag.storage.database import Part
from crag.storage.tables import meta

_KEY = "in flight "
_ELSEWHERE = timedelta(hours=1)
"""After so long, work started on another machine counts as cut off: whether its program lives can't be seen from
here.
"""
_here: set[str] = set()
"""Keys of what this process is doing."""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightJob:
    """A run or an upload. `at`: when it began, ISO 8601 in UTC. `label` is what a person calls it.

    `names` are the files of an upload, in order. `first` is the first event of a run, as a line of JSON.
    """

    id: str
    kind: Literal["run", "upload"]
    label: str
    at: str = ""
    names: tuple[str, ...] = ()
    first: str = ""


class InFlightJobs(Part):
    """The notes of one library. Thread-safe, across processes too. Every method raises StorageError."""

    def start(self, work: InFlightJob) -> bool:
        """Write down that this begins; False where it can't be: the work goes on without."""
        value = json.dumps({**asdict(work), "at": work.at or _now().isoformat(), "by": _process(os.getpid())})
        with _lock:
            _here.add(work.id)
        try:
            with self._database.write(synced=False) as connection:
                store.put(connection, meta, [{"key": _KEY + work.id, "value": value}])
        except LibraryError:
            return False
        return True

    def finish(self, id: str) -> None:
        """It is over, and the program that started it knows.

        Where that can't be stored, this process knows it all the same.
        """
        with suppress(LibraryError):
            if self.known(id):
                with self._database.write(grows=False, synced=False) as connection:
                    delete_note(connection, id)
            with _lock:
                _here.discard(id)

    def known(self, id: str) -> bool:
        """Whether there is a note of this work. Raises StorageError."""
        return self._scalar(select(meta.c.key).where(meta.c.key == _KEY + id)) is not None

    def cut_off(self) -> list[InFlightJob]:
        """What no program is doing any more, the oldest first. Raises StorageError."""
        gone = [each for each in self._notes() if not _goes_on(each["id"], each["at"], each.pop("by"))]
        if gone:
            # What ended since it was read has taken its note along, before its program or this process let it go.
            there = {each["id"] for each in self._notes()}
            gone = [each for each in gone if each["id"] in there]
        return [
            InFlightJob(**{**each, "names": tuple(each["names"])}) for each in sorted(gone, key=lambda one: one["at"])
        ]

    def _notes(self) -> list[dict[str, Any]]:
        wanted = select(meta.c.value).where(meta.c.key.startswith(_KEY, autoescape=True))
        with self._database.read() as connection:
            return [json.loads(value) for value in connection.scalars(wanted)]


def delete_note(connection: Connection, id: str) -> None:
    """The note of this work goes, within the caller's transaction."""
    connection.execute(delete(meta).where(meta.c.key == _KEY + id))


def _goes_on(id: str, at: str, by: dict[str, str]) -> bool:
    """Whether the process that wrote a note still works on it."""
    if by["host"] != socket.gethostname():
        return abs(_now() - datetime.fromisoformat(at)) < _ELSEWHERE  # a clock may have been set back
    if by == _process(os.getpid()):
        with _lock:
            return id in _here
    return by == _process(int(by["pid"]))


def _process(pid: int) -> dict[str, str]:
    """What tells a process from every other of this machine, also from a later one of the same number."""
    return {"host": socket.gethostname(), "pid": str(pid), "since": _since(pid)}


def _since(pid: int) -> str:
    """When a process began, as the system counts; "gone" where there is none, or where it has ended."""
    try:
        # Of /proc/…/stat: the program's name in brackets may hold anything; the state comes first after it.
        said = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "gone" if said[0] in "ZX" else said[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return "gone"
    try:
        os.kill(pid, 0)
    except PermissionError:
        return ""
    except OSError:
        return "gone"
    return ""


def _now() -> datetime:
    return datetime.now(UTC)
