"""Takes a backup: every library, then what belongs to none, into one file that counts only when it is whole."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from crag.admin.audit import AuditLog
from crag.admin.backup.archive import TEAMS_FILE, Archive, Contents, LeftOut, Stored, Watch, Writing, member_of
from crag.admin.backup.sources import Source
from crag.core import __version__
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError, StorageError
from crag.index.manifest import sync
from crag.storage.data_dir_lock import DataDirLock
from crag.storage.database import own_folder
from crag.storage.key_value_store import CHOSEN, SIGNED_WITH
from crag.storage.places import check_workspace_name
from crag.storage.sqlite_errors import translate_errors

__all__ = ["Taken", "take_backup"]

WHO = "command line"
_WORK = re.compile(r"\.crag-backup-[0-9a-f]{8}")
_STAMP = r"\d{8}T\d{12}Z"
_SPARE = 16 * 1024 * 1024
"""Bytes of the disk that a backup leaves free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A backup that was made and read again: its file, bytes, what is in it, and which older ones were removed."""

    file: Path
    size: int
    contents: Contents
    removed: tuple[str, ...] = ()


def take_backup(
    source: Source,
    to: Path,
    *,
    workspace: str | None = None,
    keep: int = 0,
    watch: Watch = lambda what, done, of: None,
    cancel: threading.Event | None = None,
) -> Taken:
    """Back up all that is at the source, or one library of it.

    `to`: a new file that ends in .zip, or a folder, which is made and in which the file is named by the time; there,
    with `keep`, only so many of them stay, the new one too.
    A library that can't be read is left out, and told; no older backup is removed then.
    Raises NotFoundError where there is nothing to back up, InputError, StorageError and CancelledError.
    """
    folder, name = _resolve_target(to, workspace)
    use = DataDirLock(source.data)
    if source.kind == "files":
        use.begin()  # nothing is replaced under it
    try:
        names = [check_workspace_name(workspace)] if workspace else source.names()
        if not names:
            raise NotFoundError("There is no library to back up.", "Look at the place that is backed up.")
        with translate_errors(folder / name):
            _check_room(folder, source.sizes(names))
            with _work(folder) as work:
                contents = _write_archive(source, names, work, workspace is None, watch, cancel)
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
        AuditLog(source.teams).note("backup", WHO, workspace=workspace or "", what=name, detail=said)
    finally:
        use.end()
    return Taken(file=folder / name, size=size, contents=contents, removed=removed)


def _write_archive(
    source: Source,
    names: list[str],
    work: Path,
    whole: bool,
    watch: Watch,
    cancel: threading.Event | None,
) -> Contents:
    libraries: list[Stored] = []
    left_out: list[LeftOut] = []
    kept: list[str] = []
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    handle = os.open(work / "backup.zip", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w+b") as file, Writing(file) as into, source.moment(names, whole=whole):
        for name in names:
            try:
                found = source.library(name, work / name, watch, cancel)
            except CancelledError:
                raise
            except CragError as error:
                left_out.append(LeftOut(workspace=name, why=error.message))
                found = None
            if found is not None:
                into.add(member_of(name), work / name / "library.db", cancel)
                libraries.append(found)
            shutil.rmtree(work / name, ignore_errors=True)
        teams = source.people(work / TEAMS_FILE) if whole else 0
        if teams:
            into.add(TEAMS_FILE, work / TEAMS_FILE, cancel)
        for each in (SIGNED_WITH, CHOSEN) if whole else ():
            value = source.kept.read(each)
            if value is not None:
                into.put(each, value)
                kept.append(each)
        if whole and (count := source.unnamed()):
            why = "It lies under no workspace's name: start the app once, or back it up by its own name."
            left_out += [LeftOut(workspace="", why=why)] * count
        contents = Contents(
            program=__version__,
            made_at=made_at,
            kind=source.kind,
            whole=whole,
            libraries=tuple(libraries),
            teams=teams,
            kept=tuple(kept),
            models=tuple(sorted(each.name for each in (source.data / "models").glob("*.gguf"))),
            left_out=tuple(left_out),
        )
        into.finish(contents)
    return contents


def _resolve_target(to: Path, workspace: str | None) -> tuple[Path, str]:
    """The folder and the name of the file. Raises InputError where it would replace one."""
    if to.suffix == ".zip" and not to.is_dir():
        if to.exists():
            raise InputError(f"There is a file {to.name} already.", "Name another one, or a folder.")
        return to.absolute().parent, to.name
    begins = f"crag-{workspace}-" if workspace else "crag-"
    return to.absolute(), f"{begins}{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z.zip"


def _check_room(folder: Path, sizes: list[int]) -> None:
    """Raises StorageError where the file might not fit, nor what it is made of."""
    near = folder
    while not near.exists():
        near = near.parent
    needs, free = sum(sizes) + max(sizes, default=0) + _SPARE, shutil.disk_usage(near).free
    if free < needs:
        raise StorageError(
            f"The backup may need {needs / 2**20:,.0f} MB, and {free / 2**20:,.0f} MB are free there.",
            "Make room, or choose a place with more. No backup was made.",
        )


@contextmanager
def _work(folder: Path) -> Iterator[Path]:
    """A folder for what is being made, beside what it will be; those that kills have left are removed."""
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
    """Removes the oldest backups of the same kind; the one just made stays, whatever the clock says."""
    begins = f"crag-{re.escape(workspace)}-" if workspace else "crag-"
    ours = re.compile(rf"{begins}{_STAMP}\.zip")
    others = sorted(each.name for each in folder.iterdir() if ours.fullmatch(each.name) and each.name != made)
    gone = others[: max(0, len(others) - (keep - 1))]
    for name in gone:
        (folder / name).unlink(missing_ok=True)
    return tuple(gone)
