"""Backups of a data folder: one zip of all that is stored, made while programs use it, and its restore.

    manifest.json               what is in it, with the SHA-256 hash of each other file: `Manifest`
    libraries/NAME/library.db   a library, a file of SQLite
    teams.db                    people, workspaces, links, spending, the audit log
    keys.secret                 what the addresses of private libraries are signed with
    settings.json               the choices of the Settings page

A restore trusts nothing that stands in the file. It unpacks and checks everything apart, then puts it in its place in
one step. The hashes find damage. They are no signature: who can write a backup can write another one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import Connection, update

from crag.admin.audit import AuditedAct, AuditLog
from crag.admin.store import FILE, TEAMS, open_store
from crag.core import __version__
from crag.core.errors import InputError, NotFoundError, StorageError
from crag.index.stamp import sync
from crag.storage import store
from crag.storage.data_dir import RESTORING, DataDirLock, adding, alone, put_back, swap
from crag.storage.files import own_folder
from crag.storage.layout import Layout
from crag.storage.places import DataFolder, check_workspace_name
from crag.storage.sqlite import SqliteFile, connect, damaged_error, driver, translate_errors
from crag.storage.tables import LIBRARY, meta
from crag.storage.values import CHOSEN, SIGNED_WITH
from crag.text.formats import iso_now

FORMAT = 2
"""Of the file. One of another format is refused."""
WHO = "command line"
_MANIFEST = "manifest.json"
_LIBRARY = re.compile(r"libraries/([a-z0-9-]{1,64})/library\.db")
_WORK = ".crag-backup"
_STEP = 1024 * 1024
"""Bytes of a file that are copied at once."""
_LARGEST_MANIFEST = 64 * 1024 * 1024
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What Python's zipfile raises for a file that is none, or not a whole one."""

Watch = Callable[[str, int, int], object]
"""Called with what was done, how much of it, and how much there is."""


class Manifest(BaseModel):
    """What a backup says of itself: the hash of each file by its name, and why a library is not among them.

    `whole`: all libraries were to be in it, and what belongs to none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = FORMAT
    program: str = __version__
    made_at: str
    whole: bool
    files: dict[str, str]
    left_out: dict[str, str]

    @property
    def libraries(self) -> dict[str, str]:
        """Each library's file, by the name of its workspace."""
        return {found[1]: name for name in self.files if (found := _LIBRARY.fullmatch(name))}


def create_backup(
    data: Path, to: Path, *, workspace: str | None = None, keep: int = 0, watch: Watch = lambda what, done, of: None
) -> tuple[Path, Manifest]:
    """Back up a data folder, or one library of it, while programs use it; the file and what it says of itself.

    `to` is a new file that ends in .zip, or a folder, where the time names the file. In a folder, `keep` above 0 limits
    how many backups stay. A library that can't be read is left out and named; then no older backup is removed.
    Raises NotFoundError where there is nothing to back up, InputError and StorageError.
    """
    named = to.suffix == ".zip" and not to.is_dir()
    if named and to.exists():
        raise InputError(f"There is a file {to.name} already.", "Name another one, or a folder.")
    begin = f"crag-{workspace}-" if workspace else "crag-"
    folder = to.absolute().parent if named else to.absolute()
    file = folder / (to.name if named else f"{begin}{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z.zip")
    home, lock = DataFolder(data), DataDirLock(data)
    lock.begin()  # no restore replaces the folder meanwhile
    try:
        names = [check_workspace_name(workspace)] if workspace else home.names()
        if not any((home.folder(name) / "library.db").exists() for name in names):
            raise NotFoundError("There is no library to back up.", "Look at the place that is backed up.")
        with translate_errors(file), _work(folder) as work:
            manifest = _write(home, names, work, workspace is None, watch)
            with _opened(work / "backup.zip") as (archive, _):
                for name in manifest.files:
                    for _ in _read(archive, name, manifest):
                        pass  # it is whole before it counts
            (work / "backup.zip").replace(file)
            sync(folder)
        if keep and not named and not manifest.left_out:
            ours = re.compile(rf"{re.escape(begin)}\d{{8}}T\d{{12}}Z\.zip")
            others = sorted(each for each in folder.iterdir() if ours.fullmatch(each.name) and each != file)
            for each in others[: max(0, len(others) - (keep - 1))]:
                each.unlink(missing_ok=True)
        said = f"{len(manifest.libraries)} libraries; left out: {len(manifest.left_out)}"
        _note(data, "backup", file.name, said, workspace or "")
    finally:
        lock.end()
    return file, manifest


def restore_backup(
    backup: Path,
    data: Path,
    *,
    workspace: str | None = None,
    called: str | None = None,
    replace: bool = False,
    watch: Watch = lambda what, done, of: None,
) -> tuple[list[str], Path | None]:
    """Restore all of a backup into a data folder, or one library, which may be `called` otherwise.

    Returns the names of the libraries, and the folder of what was there before, if anything was: with `replace` it is
    put aside. Chunk indexes are made again when a library is first used. A restore that fails or is killed changes
    nothing. A library that is not there yet may be added while programs use the folder. Raises StorageError where the
    folder is in use or not empty, InputError for a damaged backup, and NotFoundError.
    """
    with _opened(backup) as (archive, manifest):
        libraries = manifest.libraries
        if workspace is None and not manifest.whole:
            raise InputError("The backup holds one library, not all that was stored.", "Name it by --workspace.")
        if workspace is not None:
            if workspace not in libraries:
                raise NotFoundError(f"There is no library {workspace} in it.", f"There are: {', '.join(libraries)}.")
            libraries = {check_workspace_name(called or workspace): libraries[workspace]}
        home, coming = DataFolder(data), data / RESTORING
        members = {f"workspaces/{name}/library.db": member for name, member in libraries.items()}
        places = [f"workspaces/{name}" for name in libraries]
        if workspace is None:
            members |= {name: name for name in manifest.files if not _LIBRARY.fullmatch(name)}
            places = ["workspaces", SIGNED_WITH, CHOSEN, FILE, f"{FILE}-wal", f"{FILE}-shm"]

        def stored() -> list[str]:
            """What lies there that would be replaced."""
            found = [name for name in places if name != "workspaces" and (data / name).exists()]
            return [*(home.names() if workspace is None else []), *found]

        with adding(data) if workspace and not stored() else alone(data):
            if (there := stored()) and not replace:
                raise StorageError(
                    f"Something is stored there already: {', '.join(there[:3]).replace('workspaces/', '')}.",
                    "Choose an empty place, or add --replace: what is there is kept aside. Nothing was changed.",
                )
            try:
                with translate_errors(coming):
                    shutil.rmtree(coming, ignore_errors=True)
                    for at, (place, member) in enumerate(members.items(), start=1):
                        own_folder((coming / place).parent)
                        _extract(archive, member, manifest, coming / place)
                        if place.endswith(".db"):
                            _adopt(coming / place, TEAMS if place == FILE else LIBRARY, backup.name)
                        watch("restored", at, len(members))
            except BaseException:
                shutil.rmtree(coming, ignore_errors=True)
                raise
            aside = swap(data, {name: (coming / name).exists() for name in places})
            said = f"made at {manifest.made_at}; before: {aside.name if aside else 'nothing'}"
            _note(data, "restore", backup.name, said, called or workspace or "")
    return list(libraries), aside


def undo_restore(data: Path) -> Path | None:
    """Bring back what the latest restore put aside; the folder of what was there until now.

    Raises NotFoundError and StorageError.
    """
    with alone(data):
        aside = put_back(data)
        said = f"before: {aside.name if aside else 'nothing'}"
        _note(data, "restore", "undone", said)
    return aside


def _note(data: Path, act: AuditedAct, what: str, detail: str, workspace: str = "") -> None:
    with closing(open_store(data)) as store:  # what is open of it can't be moved by the next restore
        AuditLog(store).note(act, WHO, workspace=workspace, what=what, detail=detail)


# Writing


@contextmanager
def _work(folder: Path) -> Iterator[Path]:
    """The folder for an unfinished file, beside the backups, without what a killed program has left in it."""
    work = folder / _WORK
    own_folder(folder)
    own_folder(work)
    try:
        turn = FileLock(work / "lock", mode=0o600).acquire(timeout=0)
    except Timeout:
        raise StorageError("Another backup is being written there.", "Wait until that has ended.") from None
    with turn:
        try:
            for each in work.glob("*.*"):
                each.unlink()
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _write(home: DataFolder, names: list[str], work: Path, whole: bool, watch: Watch) -> Manifest:
    """Write the file, and make it last on the disk."""
    files: dict[str, str] = {}
    left_out: dict[str, str] = {}
    copy = work / "copy.db"
    with os.fdopen(_private(work / "backup.zip"), "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as into:

            def add(name: str, source: Path) -> None:
                hashed = sha256()
                with source.open("rb") as read, into.open(name, "w", force_zip64=True) as written:
                    while part := read.read(_STEP):
                        hashed.update(part)
                        written.write(part)
                files[name] = hashed.hexdigest()

            for at, name in enumerate(names, start=1):
                try:
                    _copy_database(home.folder(name) / "library.db", copy, LIBRARY)
                    add(f"libraries/{name}/library.db", copy)
                except StorageError as error:
                    left_out[name] = error.message
                copy.unlink(missing_ok=True)
                watch("libraries", at, len(names))
            if whole and (home.data / FILE).exists():
                _copy_database(home.data / FILE, copy, TEAMS)
                add(FILE, copy)
            for name in (SIGNED_WITH, CHOSEN):
                if whole and (home.data / name).exists():
                    add(name, home.data / name)
            manifest = Manifest(made_at=iso_now(), whole=whole, files=files, left_out=left_out)
            into.writestr(_MANIFEST, manifest.model_dump_json(indent=1))
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _copy_database(file: Path, to: Path, layout: Layout) -> None:
    """Copy a database as it is at this moment, while others go on writing. Raises StorageError where it is damaged."""
    os.close(_private(to))
    with translate_errors(file), closing(connect(file)) as held:
        driver(held).execute("VACUUM INTO ?", (str(to),))
        with closing(connect(to)) as made:
            SqliteFile(file, layout).inspect(driver(made))
            if layout is LIBRARY and (problem := store.first_problem(made)):
                raise damaged_error(file, problem)


def _private(file: Path) -> int:
    """A new file, for its owner alone."""
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)


# Reading


@contextmanager
def _opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """A backup and what it says of itself: of no other files than a backup holds, and of all of them.

    Raises InputError for what is no backup, or not a whole one, and for one of another format.
    """
    if not file.is_file():
        raise InputError(f"There is no backup {file.name}.", "Name the file that crag backup has made.")
    try:
        with translate_errors(file):
            file.open("rb").close()
        archive = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise _broken(file, "it is cut off or damaged") from error
    with archive:
        try:
            if archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
                raise ValueError(_MANIFEST)
            said = archive.read(_MANIFEST)
            if (format := json.loads(said)["format"]) != FORMAT:
                raise InputError(
                    f"The backup {file.name} is of format {format!r:.20}; this program reads {FORMAT}.",
                    "Restore it with the program that made it. Nothing was changed.",
                )
            manifest = Manifest.model_validate_json(said)
        except (*_DAMAGE, KeyError, TypeError, RecursionError, ValidationError) as error:
            raise _broken(file, "what it says of itself can't be read") from error
        if sorted(archive.namelist()) != sorted([*manifest.files, _MANIFEST]) or not all(
            name in (FILE, SIGNED_WITH, CHOSEN) or _LIBRARY.fullmatch(name) for name in manifest.files
        ):
            raise _broken(file, "what it says of itself does not fit what it holds")
        yield archive, manifest


def _read(archive: zipfile.ZipFile, name: str, manifest: Manifest) -> Iterator[bytes]:
    """What a file in it holds, at most as much as it says; compared with its hash at the end. Raises InputError."""
    hashed, path = sha256(), Path(str(archive.filename))
    try:
        with archive.open(name) as source:
            while part := source.read(_STEP):
                hashed.update(part)
                yield part
    except _DAMAGE as error:
        raise _broken(path, "it is cut off or damaged") from error
    if hashed.hexdigest() != manifest.files[name]:
        raise _broken(path, f"{name} differs from its hash")


def _extract(archive: zipfile.ZipFile, name: str, manifest: Manifest, to: Path) -> None:
    """Unpack a file of it. Raises StorageError, and as `_read` does."""
    size, free = archive.getinfo(name).file_size, shutil.disk_usage(to.parent).free
    if size > free:
        raise StorageError(
            f"{size / 2**20:,.0f} MB are to be restored, and {free / 2**20:,.0f} MB are free there.",
            "Make room, or choose a place with more. Nothing was changed.",
        )
    with os.fdopen(_private(to), "wb") as into:
        for part in _read(archive, name, manifest):
            into.write(part)


def _adopt(file: Path, layout: Layout, backup: str) -> None:
    """Check a database that was unpacked; a library gets an id of its own, by which an index on a server knows it.

    Raises InputError for a file that holds what none does or is damaged, StorageError for another version.
    """
    with translate_errors(file), closing(connect(file)) as connection:
        SqliteFile(file, layout).inspect(driver(connection))
        with layout.empty() as fresh:
            known = _statements(connection) == _statements(fresh)
        if not known or (layout is LIBRARY and store.first_problem(connection)):
            raise _broken(Path(backup), f"{file.name} in it is damaged, or holds what none does")
        if layout is LIBRARY:
            connection.execute(update(meta).where(meta.c.key == "library").values(value=uuid.uuid4().hex))
            connection.commit()


def _statements(connection: Connection) -> set[tuple[str, str, str]]:
    """The tables, indexes, triggers and views of a database, as they were made."""
    listed = driver(connection).execute(
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite|_%' ESCAPE '|'"
    )
    # A column that was added later stands on the line of the one before.
    return {(kind, name, " ".join((sql or "").split())) for kind, name, sql in listed}


def _broken(file: Path, why: str) -> InputError:
    return InputError(
        f"The file {file.name} is no whole backup: {why}.",
        "Nothing was changed. Take another backup; this one can't be trusted.",
    )
