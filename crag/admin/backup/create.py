"""Creates a backup of a data folder: every library, then what belongs to none, in one file that counts when whole."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from crag.admin.audit import AuditLog
from crag.admin.backup.archive import (
    TEAMS_FILE,
    Archive,
    Contents,
    LeftOut,
    Stored,
    Watch,
    Writing,
    check_cancelled,
    check_room,
    member_of,
)
from crag.admin.store import FILE, open_store
from crag.core import __version__
from crag.core.errors import InputError, NotFoundError, StorageError
from crag.index.manifest import sync
from crag.storage import store
from crag.storage.data_dir import DataDirLock
from crag.storage.places import DataFolder, check_workspace_name
from crag.storage.records import CHOSEN, SIGNED_WITH
from crag.storage.sqlite import connect, damaged_error, driver, own_folder, translate_errors, wait_for_others
from crag.storage.tables import LIBRARY, chunks, documents, runs

WHO = "command line"
_WORK = re.compile(r"\.crag-backup-[0-9a-f]{8}")
_STAMP = r"\d{8}T\d{12}Z"
_SPARE = 16 * 1024 * 1024
"""Bytes of the disk that a backup leaves free."""
_PAGES = 2_048
"""Pages of SQLite that one step copies: about 8 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A backup that was written and read again: its file, bytes, contents, and the older ones that were removed."""

    file: Path
    size: int
    contents: Contents
    removed: tuple[str, ...] = ()


def create_backup(
    data: Path,
    to: Path,
    *,
    workspace: str | None = None,
    keep: int = 0,
    watch: Watch = lambda what, done, of: None,
    cancel: threading.Event | None = None,
) -> Created:
    """Back up a data folder, or one library of it, while programs use it.

    `to` is a new file that ends in .zip, or a folder, where the time names the file. In a folder, `keep` above 0 limits
    how many backups stay. A library that can't be read is left out and listed; then no older backup is removed.
    Raises NotFoundError where there is nothing to back up, InputError, StorageError and CancelledError.
    """
    folder, name = _resolve_target(to, workspace)
    home, lock = DataFolder(data), DataDirLock(data)
    lock.begin()  # no restore replaces the folder meanwhile
    try:
        names = [check_workspace_name(workspace)] if workspace else home.names()
        if not names:
            raise NotFoundError("There is no library to back up.", "Look at the place that is backed up.")
        with translate_errors(folder / name):
            sizes = [_size(home.folder(each)) for each in names]
            check_room(folder, sum(sizes) + max(sizes) + _SPARE)  # the file, and the copy that it is made from
            with _work(folder) as work:
                with _archive(work) as into:
                    contents = _write(home, names, work, into, workspace is None, watch, cancel)
                if workspace and not contents.libraries:
                    why = contents.left_out[0].why if contents.left_out else "There is no such library."
                    raise StorageError(f"The library {workspace} can't be backed up. {why}", "No backup was made.")
                with Archive(work / "backup.zip") as archive:
                    archive.verify(watch, cancel)
                (work / "backup.zip").replace(folder / name)
                sync(folder)
            size = (folder / name).stat().st_size
            removed = () if contents.left_out or not keep else _delete_oldest(folder, name, keep, workspace)
        said = f"{len(contents.libraries)} libraries, {size:,} bytes; left out: {len(contents.left_out)}"
        AuditLog(open_store(data)).note("backup", WHO, workspace=workspace or "", what=name, detail=said)
    finally:
        lock.end()
    return Created(file=folder / name, size=size, contents=contents, removed=removed)


def _write(
    home: DataFolder,
    names: list[str],
    work: Path,
    into: Writing,
    whole: bool,
    watch: Watch,
    cancel: threading.Event | None,
) -> Contents:
    libraries: list[Stored] = []
    left_out: list[LeftOut] = []
    kept: list[str] = []
    teams = 0
    copy = work / "library.db"
    for name in names:
        try:
            stored = _copy_library(home, name, copy, watch, cancel)
        except StorageError as error:
            left_out.append(LeftOut(workspace=name, why=error.message))
            stored = None
        if stored is not None:
            into.add(member_of(name), copy, cancel)
            libraries.append(stored)
        copy.unlink(missing_ok=True)
    if whole:
        if (home.data / FILE).exists():
            teams = _copy_database(home.data / FILE, work / TEAMS_FILE, lambda done, of: None, cancel)
            into.add(TEAMS_FILE, work / TEAMS_FILE, cancel)
        for each in (SIGNED_WITH, CHOSEN):
            if (value := home.values.read(each)) is not None:
                into.put(each, value)
                kept.append(each)
        why = "Its folder has no workspace's name: start the app once, or back it up by its own name."
        left_out += [LeftOut(workspace="", why=why)] * home.unnamed()
    contents = Contents(
        program=__version__,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        whole=whole,
        libraries=tuple(libraries),
        teams=teams,
        kept=tuple(kept),
        models=tuple(sorted(each.name for each in (home.data / "models").glob("*.gguf"))),
        left_out=tuple(left_out),
    )
    into.finish(contents)
    return contents


def _copy_library(home: DataFolder, name: str, to: Path, watch: Watch, cancel: threading.Event | None) -> Stored | None:
    """Copy a library to a new file; None where there is none. Raises StorageError for one that can't be read whole."""
    file = home.folder(name) / "library.db"
    if not file.exists():
        return None
    version = _copy_database(file, to, lambda done, of: watch(name, done, of), cancel)
    with translate_errors(file), closing(connect(to)) as connection:
        if LIBRARY.inspect(driver(connection), file):
            return None  # an empty file: its library is being created
        if problem := store.first_problem(connection):
            raise damaged_error(file, problem)
        return Stored(
            workspace=name,
            version=version,
            size=to.stat().st_size,
            documents=store.count(connection, documents),
            chunks=store.count(connection, chunks),
            runs=store.count(connection, runs),
        )


def _copy_database(file: Path, to: Path, watch: Callable[[int, int], object], cancel: threading.Event | None) -> int:
    """Copy a database as it is at this moment, by SQLite's online backup; its `user_version`. Raises StorageError."""

    def step(status: int, left: int, of: int) -> None:
        check_cancelled(cancel)
        watch(of - left, of)

    os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with translate_errors(file), closing(connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as held:
        source = driver(held)
        wait_for_others(source)
        source.execute("BEGIN")  # others go on writing, and the copy is of one moment
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with closing(connect(to)) as connection:
            into = driver(connection)
            into.execute("PRAGMA synchronous = OFF")  # a kill leaves no backup at all
            source.backup(into, pages=_PAGES, progress=step)
            into.execute("PRAGMA journal_mode = DELETE")
        return int(source.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _archive(work: Path) -> Iterator[Writing]:
    handle = os.open(work / "backup.zip", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w+b") as file, Writing(file) as into:
        yield into


def _resolve_target(to: Path, workspace: str | None) -> tuple[Path, str]:
    """The folder and the name of the file. Raises InputError where it would replace one."""
    if to.suffix == ".zip" and not to.is_dir():
        if to.exists():
            raise InputError(f"There is a file {to.name} already.", "Name another one, or a folder.")
        return to.absolute().parent, to.name
    begins = f"crag-{workspace}-" if workspace else "crag-"
    return to.absolute(), f"{begins}{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z.zip"


def _size(folder: Path) -> int:
    size = 0
    for name in ("library.db", "library.db-wal"):
        with suppress(FileNotFoundError):
            size += (folder / name).stat().st_size
    return size


@contextmanager
def _work(folder: Path) -> Iterator[Path]:
    """A folder for unfinished files, beside the backups. Those of killed programs are removed."""
    own_folder(folder)
    for each in folder.iterdir():
        if _WORK.fullmatch(each.name) and not each.is_symlink():
            with suppress(Timeout), _lock(each):
                shutil.rmtree(each, ignore_errors=True)
    work = folder / f".crag-backup-{secrets.token_hex(4)}"
    work.mkdir(mode=0o700)
    try:
        with _lock(work):
            yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _lock(work: Path) -> FileLock:
    return FileLock(work / "lock", timeout=0, mode=0o600, thread_local=False)


def _delete_oldest(folder: Path, made: str, keep: int, workspace: str | None) -> tuple[str, ...]:
    """Delete the oldest backups of the same kind; never the new one, whatever the clock says."""
    begins = f"crag-{re.escape(workspace)}-" if workspace else "crag-"
    ours = re.compile(rf"{begins}{_STAMP}\.zip")
    others = sorted(each.name for each in folder.iterdir() if ours.fullmatch(each.name) and each.name != made)
    gone = others[: max(0, len(others) - (keep - 1))]
    for name in gone:
        (folder / name).unlink(missing_ok=True)
    return tuple(gone)
