"""A data folder: who uses it, and how a restore swaps its content in one step."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from crag.core.errors import NotFoundError, StorageError
from crag.index.manifest import sync
from crag.storage.database import own_folder
from crag.storage.sqlite import translate_errors

__all__ = ["RESTORING", "DataDirLock", "adding", "alone", "finish", "guarded", "put_back", "swap"]

RESTORING = "restoring"
"""Where a restore makes what is to come. Nothing in it counts before its note is there."""
_NOTE = "moves.json"
_ASIDE = re.compile(r"before-\d{8}T\d{12}")


def swap(data: Path, arriving: Mapping[str, bool]) -> Path | None:
    """Have what lies in `restoring` take its place; where that is kept aside which was there, if anything was.

    `arriving`: the names that change, of files and folders below the data folder, and whether there is a new one.
    Raises StorageError; nothing has changed then, or the next program that uses the folder goes on with it.
    """
    with translate_errors(data / RESTORING):
        _lasting(data / RESTORING)
        _decide(data / RESTORING, arriving)
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
        found = sorted(each for each in data.iterdir() if _ASIDE.fullmatch(each.name)) if data.is_dir() else []
        if not found:
            raise NotFoundError("No restore has put anything aside here.", "There is nothing to undo.")
        latest = found[-1]
        names = json.loads((latest / "arriving.json").read_text(encoding="utf-8"))
        shutil.rmtree(data / RESTORING, ignore_errors=True)
        _decide(latest, {name: (latest / name).exists() for name in names})
        latest.rename(data / RESTORING)
        sync(data)
    return finish(data)


def _decide(folder: Path, arriving: Mapping[str, bool]) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    _write(folder / _NOTE, {"aside": f"before-{stamp}", "arriving": dict(arriving)})


def _write(file: Path, value: object) -> None:
    draft = file.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        json.dump(value, opened)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    sync(file.parent)


def _lasting(folder: Path) -> None:
    """Make every file in it last on the disk."""
    for each in [*folder.rglob("*"), folder]:
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_log = logging.getLogger(__name__)
_FOLDER, _GUARD, _ADDING = "in-use", "guard", "adding"
_WAIT = 5.0
"""Seconds to wait for another program that is just coming, too; who replaces a folder has the guard for longer."""


class DataDirLock:
    """One program's use of a data folder. Thread-safe after `begin`.

    Where no file may be made in the folder there is no lock, and it works on.
    """

    def __init__(self, data: Path | None) -> None:
        """Without a folder, where libraries lie in a database, nothing is said."""
        self._data = data
        self._lock: FileLock | None = None
        self._tried = False

    def begin(self) -> None:
        """Say that the folder is in use, if it is there; more than once is no harm.

        A restore that a kill cut short in its last step is finished first. Raises StorageError where one is under way.
        """
        if self._tried or self._data is None or not self._data.is_dir():
            return
        try:
            with guarded(self._data) as folder:
                finish(self._data)
                _others(folder)  # also removes what killed programs have left
                lock = _lock(folder / f"{os.getpid()}-{secrets.token_hex(4)}")
                lock.acquire()
                self._lock = lock
        except Timeout:
            raise StorageError(
                "A backup is being restored into this data folder.", "Wait until that has ended, then try again."
            ) from None
        except (OSError, NotImplementedError) as error:
            _log.info("other programs don't see that %s is in use: %s", self._data, error)
        self._tried = True

    def end(self) -> None:
        """Say that it is not any more."""
        lock, self._lock, self._tried = self._lock, None, False
        if lock is not None:
            lock.release()
            with suppress(OSError):
                Path(lock.lock_file).unlink()


@contextmanager
def alone(data: Path) -> Iterator[None]:
    """The right to replace what is in a data folder, which is made; nobody begins to use it meanwhile.

    Raises StorageError where a program uses it, or another has this right.
    """
    own_folder(data)
    try:
        with guarded(data) as folder:
            if users := _others(folder):
                processes = ", ".join(sorted({each.partition("-")[0] for each in users}))
                raise StorageError(
                    f"The data folder is in use by a running program (process {processes}).",
                    "Stop the app, crag serve and what else uses it, then give the command again. Nothing was changed.",
                )
            finish(data)
            yield
    except Timeout:
        raise _another() from None


@contextmanager
def adding(data: Path) -> Iterator[None]:
    """The right to add a library that is not there yet, which one at a time has, while programs use the folder.

    The folder is made. Raises StorageError where another has this right, or replaces what is in the folder.
    """
    own_folder(data)
    use = DataDirLock(data)
    use.begin()
    try:
        with _lock(data / _FOLDER / _ADDING):
            yield
    except Timeout:
        raise _another() from None
    finally:
        use.end()


@contextmanager
def guarded(data: Path) -> Iterator[Path]:
    """The right to come, to look and to replace. Raises Timeout where another has it for long."""
    folder = data / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    guard = FileLock(folder / _GUARD, timeout=_WAIT, mode=0o600, thread_local=False)
    with guard:
        yield folder


def _others(folder: Path) -> list[str]:
    """The names of those who hold a lock. Files that nobody holds are removed: the guard keeps others from coming."""
    held = []
    for each in folder.iterdir():
        if each.name in (_GUARD, _ADDING):
            continue
        lock = _lock(each)
        try:
            lock.acquire()
        except Timeout:
            held.append(each.name)
            continue
        lock.release()
        each.unlink(missing_ok=True)
    return held


def _lock(file: Path) -> FileLock:
    return FileLock(file, timeout=0, mode=0o600, thread_local=False)


def _another() -> StorageError:
    return StorageError(
        "Another program restores a backup into this data folder.", "Wait until that has ended. Nothing was changed."
    )
