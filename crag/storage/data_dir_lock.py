"""Who uses a data folder: each running program holds a lock there, so that nothing is replaced under it.

A lock on a file of its own, in the folder `in-use`; the system takes it from a killed process. To come, to look and to
replace one needs the file `guard`, which one process at a time has.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from crag.core.errors import StorageError
from crag.storage.database import own_folder
from crag.storage.swapping import finish

__all__ = ["DataDirLock", "adding", "alone", "guarded"]

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
            _log.info("nobody is told that %s is in use: %s", self._data, error)
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
