"""A data folder: the lock of the programs that use it, and how a restore swaps its content in one step."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout

from crag.core.errors import NotFoundError, StorageError
from crag.index.stamp import sync
from crag.storage.files import own_folder
from crag.storage.sqlite import translate_errors
from crag.storage.values import KeyValueStore

RESTORING = "restoring"
"""Where a restore makes what is to come. Nothing in it counts before its note is there."""
_NOTE = "moves.json"
_ASIDE, _ASIDE_AT = re.compile(r"before-\d{8}T\d{12}"), "before-%Y%m%dT%H%M%S%f"


def swap(data: Path, arriving: Mapping[str, bool]) -> Path | None:
    """Have what lies in `restoring` take its place; where that is kept aside which was there, if anything was.

    `arriving`: the names that change, of files and folders below the data folder, and whether there is a new one.
    Raises StorageError; nothing has changed then, or the next program that uses the folder goes on with it.
    """
    with translate_errors(data / RESTORING):
        _lasting(data / RESTORING)
        _decide(data, data / RESTORING, arriving)
        sync(data)
    return finish(data)


def finish(data: Path) -> Path | None:
    """Do what is left of the moves that were decided on; None where nothing was, or nothing was there before."""
    coming = data / RESTORING
    if not (coming / _NOTE).is_file():
        return None
    with translate_errors(coming):
        said = json.loads((coming / _NOTE).read_text(encoding="utf-8"))
        aside = data / said["aside"]
        for name, arrives in said["arriving"].items():
            old, new, kept = data / name, coming / name, aside / name
            # A new one that is gone from where it was made is in its place already.
            waits = new.exists() if arrives else not kept.exists()
            if waits and old.exists():
                kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                old.rename(kept)
                sync(kept.parent)
            if arrives and waits:
                old.parent.mkdir(mode=0o700, exist_ok=True)
                new.rename(old)
                sync(old.parent)
        if aside.is_dir():
            _write(aside / "arriving.json", {name: True for name in said["arriving"]})
        sync(data)
        shutil.rmtree(coming)
        return aside if aside.is_dir() else None


def put_back(data: Path) -> Path | None:
    """Undo the latest swap: what it put aside takes its place again, and what is there now is kept aside.

    Raises NotFoundError where nothing is aside, and StorageError.
    """
    with translate_errors(data / RESTORING):
        found = _aside(data)
        if not found:
            raise NotFoundError("No restore has put anything aside here.", "There is nothing to undo.")
        latest = found[-1]
        names = json.loads((latest / "arriving.json").read_text(encoding="utf-8"))
        shutil.rmtree(data / RESTORING, ignore_errors=True)
        _decide(data, latest, {name: (latest / name).exists() for name in names})
        latest.rename(data / RESTORING)
        sync(data)
    return finish(data)


def _decide(data: Path, folder: Path, arriving: Mapping[str, bool]) -> None:
    """Note in this folder what arrives, and the name of what is put aside: a later one than those that are there."""
    earlier = [datetime.strptime(each.name, _ASIDE_AT).replace(tzinfo=UTC) for each in _aside(data)]
    # A clock that was set back must not make an earlier restore the latest.
    latest = max([datetime.now(UTC), *(each + timedelta(microseconds=1) for each in earlier)])
    _write(folder / _NOTE, {"aside": latest.strftime(_ASIDE_AT), "arriving": dict(arriving)})


def _aside(data: Path) -> list[Path]:
    """What restores have put aside, the latest last."""
    return sorted(each for each in data.iterdir() if _ASIDE.fullmatch(each.name)) if data.is_dir() else []


def _write(file: Path, value: object) -> None:
    KeyValueStore(file.parent).put(file.name, json.dumps(value).encode())


def _lasting(folder: Path) -> None:
    """Make every file in it last on the disk."""
    for each in [*folder.rglob("*"), folder]:
        sync(each)


_log = logging.getLogger(__name__)
_IN_USE, _ADDING = "in-use", "adding"
"""Locked by every program that uses the folder, by a restore alone; and by a restore that adds a library."""
_WAIT, _POLL = 5.0, 0.05
"""Seconds to wait for a program that is starting, too, and between two tries."""


class DataDirLock:
    """One program's use of a data folder. Thread-safe after `begin`.

    Where no file can be created in the folder there is no lock, and the program works without.
    """

    def __init__(self, data: Path | None) -> None:
        """None: the libraries are in a database, and nothing is locked."""
        self._data = data
        self._handle: int | None = None
        self._tried = False

    def begin(self) -> None:
        """Lock the folder as in use, if it exists; more than once does no harm.

        Finishes a restore that was killed in its last step. Raises StorageError where one is under way.
        """
        if self._tried or self._data is None or not self._data.is_dir():
            return
        try:
            self._handle = _acquire(self._data, shared=True)
        except BlockingIOError:
            raise StorageError(
                "A backup is being restored into this data folder.", "Wait until that has ended, then try again."
            ) from None
        except OSError as error:
            _log.info("other programs don't see that %s is in use: %s", self._data, error)
        self._tried = True

    def end(self) -> None:
        """Unlock it."""
        handle, self._handle, self._tried = self._handle, None, False
        if handle is not None:
            os.close(handle)


@contextmanager
def alone(data: Path) -> Iterator[None]:
    """The right to replace what is in a data folder, which is created. No program starts to use it meanwhile.

    Raises StorageError where a program uses it, or another has this right.
    """
    own_folder(data)
    try:
        handle = _acquire(data, shared=False)
    except BlockingIOError:
        raise StorageError(
            "The data folder is in use by a running program, or another restore.",
            "Stop the app, crag serve and what else uses it, then give the command again. Nothing was changed.",
        ) from None
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def adding(data: Path) -> Iterator[None]:
    """The right to add a library while programs use the folder, which is created. One program has it at a time.

    Raises StorageError where another has this right, or replaces what is in the folder.
    """
    own_folder(data)
    use = DataDirLock(data)
    use.begin()
    try:
        with FileLock(data / _ADDING, timeout=0, mode=0o600):
            finish(data)
            yield
    except Timeout:
        raise StorageError(
            "Another program restores a backup into this data folder.",
            "Wait until that has ended. Nothing was changed.",
        ) from None
    finally:
        use.end()


def _acquire(data: Path, *, shared: bool) -> int:
    """Lock a data folder until the returned handle is closed; a killed program's lock ends with it.

    The first program to use the folder has it alone for a moment and finishes a killed restore. Raises BlockingIOError
    where others have it for long.
    """
    handle = os.open(data / _IN_USE, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + (_WAIT if shared else 0)
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                finish(data)
                if not shared:
                    return handle
            with suppress(BlockingIOError):
                if shared:
                    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return handle
            if time.monotonic() >= deadline:
                raise BlockingIOError
            time.sleep(_POLL)
    except BaseException:
        os.close(handle)
        raise
