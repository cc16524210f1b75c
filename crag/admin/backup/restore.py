"""Restores a backup into a data folder: verified first, unpacked apart, then put in its place in one step."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, update

from crag.admin.audit import AuditLog
from crag.admin.backup.archive import TEAMS_FILE, Archive, Stored, Watch, check_room, member_of
from crag.admin.backup.create import WHO
from crag.admin.store import FILE, TEAMS, open_store
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError, StorageError
from crag.storage import store
from crag.storage.data_dir import RESTORING, adding, alone, put_back, swap
from crag.storage.layout import Layout
from crag.storage.places import DataFolder, check_workspace_name
from crag.storage.records import CHOSEN, SIGNED_WITH, KeyValueStore
from crag.storage.sqlite import connect, driver, own_folder, translate_errors
from crag.storage.tables import LIBRARY, meta

_SPARE = 64 * 1024 * 1024
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
            check_room(coming, sum(each.size for each in libraries.values()) + _SPARE)
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
        empty = LIBRARY.inspect(driver(connection), file)
        _check_layout(connection, LIBRARY, backup)
        if empty or store.first_problem(connection):
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
            _check_layout(connection, TEAMS, archive.path.name)


def _check_layout(connection: Connection, layout: Layout, backup: str) -> None:
    """Raises InputError for a database with other tables than the layout has, or with triggers or views."""
    with closing(connect(":memory:")) as fresh:
        layout.create(fresh)
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
    return {(kind, name, sql) for kind, name, sql in listed}
