"""Creates and restores backups of a data folder: all that is stored, in one file that counts when whole.

A restore is verified first, unpacked apart, then put in its place in one step.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection, update

from crag.admin.archive import (
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
from crag.admin.audit import AuditLog
from crag.admin.store import FILE, TEAMS, open_store
from crag.core import __version__
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError, StorageError
from crag.index.stamp import sync
from crag.storage import store
from crag.storage.data_dir import RESTORING, DataDirLock, adding, alone, put_back, swap
from crag.storage.files import own_folder
from crag.storage.layout import Layout
from crag.storage.places import DataFolder, check_workspace_name
from crag.storage.sqlite import SqliteFile, connect, damaged_error, driver, translate_errors
from crag.storage.tables import LIBRARY, chunks, documents, meta, runs
from crag.storage.values import CHOSEN, SIGNED_WITH, KeyValueStore
from crag.text.formats import iso_now

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
        made_at=iso_now(),
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
        SqliteFile(file, LIBRARY).inspect(driver(connection))
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
    with translate_errors(file), closing(connect(file)) as held:
        source = driver(held)
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


_SPARE_RESTORING = 64 * 1024 * 1024
_TEAMS = (FILE, f"{FILE}-wal", f"{FILE}-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came of a restore: the libraries by their names, and the folder of what was there before, if anything."""

    libraries: Mapping[str, Stored]
    aside: Path | None
    models: tuple[str, ...]


def restore_backup(
    archive: Archive,
    data: Path,
    *,
    workspace: str | None = None,
    called: str | None = None,
    replace: bool = False,
    watch: Watch = lambda what, done, of: None,
    cancel: threading.Event | None = None,
) -> Restored:
    """Restore all of a backup into a data folder, or one library, which may be `called` otherwise.

    With `replace`, what is there is put aside. Chunk indexes are made again when a library is first used. A restore
    that fails or is killed changes nothing. A library that is not there yet may be added while programs use the folder.
    Raises StorageError where the folder is in use or not empty, InputError for a damaged backup, NotFoundError, and
    CancelledError.
    """
    libraries = _choose(archive, workspace, called)
    whole = workspace is None
    home, coming = DataFolder(data), data / RESTORING
    adds = not whole and not any((data / "workspaces" / name).exists() for name in libraries)
    with adding(data) if adds else alone(data):
        _check_free(home, libraries, whole, replace)
        archive.verify(lambda name, done, of: watch("verified", done, of), cancel)
        try:
            with translate_errors(coming):
                shutil.rmtree(coming, ignore_errors=True)
                own_folder(coming)
                own_folder(coming / "workspaces")
            check_room(coming, sum(each.size for each in libraries.values()) + _SPARE_RESTORING)
            for at, (name, stored) in enumerate(libraries.items(), start=1):
                file = DataFolder(coming).folder(name) / "library.db"
                own_folder(file.parent)
                archive.extract(member_of(stored.workspace), file, cancel)
                _adopt_library(file, archive.path.name)
                watch("restored", at, len(libraries))
            if whole:
                _restore_rest(archive, coming, cancel)
        except (InputError, StorageError, CancelledError):
            with suppress(OSError):
                shutil.rmtree(coming)
            raise
        names = ["workspaces", SIGNED_WITH, CHOSEN, *_TEAMS] if whole else [f"workspaces/{name}" for name in libraries]
        aside = swap(data, {name: (coming / name).exists() for name in names})
        AuditLog(open_store(data)).note(
            "restore",
            WHO,
            workspace="" if whole else ", ".join(libraries),
            what=archive.path.name,
            detail=f"made at {archive.contents.made_at}; before: {aside.name if aside else 'nothing'}",
        )
    return Restored(libraries=libraries, aside=aside, models=archive.contents.models)


def undo_restore(data: Path) -> Path | None:
    """Bring back what the latest restore put aside; the folder of what was there until now.

    Raises NotFoundError and StorageError.
    """
    with alone(data):
        aside = put_back(data)
        said = f"before: {aside.name if aside else 'nothing'}"
        AuditLog(open_store(data)).note("restore", WHO, what="undone", detail=said)
    return aside


@contextmanager
def audit_refusals(data: Path, what: str) -> Iterator[None]:
    """Note in the audit log what is refused in the block, if the folder holds anything."""
    try:
        yield
    except CancelledError:
        raise
    except CragError as error:
        if _list_stored(DataFolder(data)):
            AuditLog(open_store(data)).note("restore", WHO, what=what, detail=error.message, refused=True)
        raise


def _choose(archive: Archive, workspace: str | None, called: str | None) -> dict[str, Stored]:
    """The libraries to restore, by the names that they get. Raises NotFoundError and InputError."""
    libraries = archive.contents.libraries
    if workspace is not None:
        libraries = tuple(each for each in libraries if each.workspace == workspace)
        if not libraries:
            raise NotFoundError(f"There is no library {workspace} in the backup.", "crag restore --list names them.")
    elif not archive.contents.whole:
        raise InputError(
            "The backup holds single libraries, not all that was stored.", "Name one of them by --workspace."
        )
    return {check_workspace_name(called or each.workspace): each for each in libraries}


def _list_stored(home: DataFolder) -> list[str]:
    return [*home.names(), *(name for name in (SIGNED_WITH, CHOSEN, FILE) if (home.data / name).exists())]


def _check_free(home: DataFolder, libraries: Mapping[str, Stored], whole: bool, replace: bool) -> None:
    """Raises StorageError where something would be replaced that may not be."""
    there = _list_stored(home)
    if not whole:
        there = [name for name in libraries if (home.data / "workspaces" / name).exists()]
    if there and not replace:
        some = ", ".join(there[:3]) + (f" and {len(there) - 3} more" if len(there) > 3 else "")
        raise StorageError(
            f"Something is stored there already: {some}.",
            "Choose an empty place, or add --replace: what is there is kept aside. Nothing was changed.",
        )


def _adopt_library(file: Path, backup: str) -> None:
    """Check a library that was unpacked, and give it an id of its own: an index on a server knows libraries by it.

    Raises InputError for a file that holds what no library does or is damaged, StorageError for another version.
    """
    with translate_errors(file), closing(connect(file)) as connection:
        SqliteFile(file, LIBRARY).inspect(driver(connection))
        with connection.begin():
            LIBRARY.upgrade(connection)
        _check_layout(connection, LIBRARY, backup)
        if store.first_problem(connection):
            raise InputError(f"The file {backup} is no backup: a library in it is damaged.", "Nothing was changed.")
        connection.execute(update(meta).where(meta.c.key == "library").values(value=uuid.uuid4().hex))
        connection.commit()


def _restore_rest(archive: Archive, coming: Path, cancel: threading.Event | None) -> None:
    """Unpack what belongs to no library. Raises InputError, StorageError and CancelledError."""
    for name in archive.contents.kept:
        KeyValueStore(coming).put(name, archive.bytes_of(name))
    if archive.contents.teams:
        archive.extract(TEAMS_FILE, coming / FILE, cancel)
        with translate_errors(coming / FILE), closing(connect(coming / FILE)) as connection:
            SqliteFile(coming / FILE, TEAMS).inspect(driver(connection))
            with connection.begin():
                TEAMS.upgrade(connection)
            _check_layout(connection, TEAMS, archive.path.name)


def _check_layout(connection: Connection, layout: Layout, backup: str) -> None:
    """Raises InputError for a database with other tables than the layout has, or with triggers or views."""
    with layout.empty() as fresh:
        if _layout(connection) == _layout(fresh):
            return
    raise InputError(
        f"The file {backup} is no backup: a database in it holds what none does.",
        "Nothing was changed. Use a backup that you have made.",
    )


def _layout(connection: Connection) -> set[tuple[str, str, str]]:
    listed = driver(connection).execute(
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite|_%' ESCAPE '|'"
    )
    # A column that was added later stands on the line of the one before.
    return {(kind, name, " ".join((sql or "").split())) for kind, name, sql in listed}
