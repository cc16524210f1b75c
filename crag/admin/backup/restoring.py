"""Restores a backup: verified first, made apart, compared row by row, and then put in its place at once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from crag.admin.audit import AuditLog
from crag.admin.backup.archive import TEAMS_FILE, Archive, Stored, Watch, member_of
from crag.admin.backup.targets import Target
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError, StorageError
from crag.storage.copying import Copy, copy_library
from crag.storage.index_sync import Differences
from crag.storage.places import FolderPlace, check_workspace_name
from crag.storage.sqlite import connect
from crag.storage.sqlite_errors import translate_errors

__all__ = ["Restore", "Restored", "put_back", "refusals"]

WHO = "command line"

_SPARE = 64 * 1024 * 1024
_OBJECTS = {"chunks_added", "chunks_removed"}
"""Triggers of libraries of the first versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A library that was made from the backup: its name, every table compared, and how its index differs.

    `index` is None where each app server makes one of its own.
    """

    workspace: str
    copy: Copy
    index: Differences | None


class Restore:
    """One backup on its way to a place. Nothing there is touched before all of it was made and compared."""

    def __init__(
        self,
        archive: Archive,
        target: Target,
        *,
        workspace: str | None = None,
        called: str | None = None,
        replace: bool = False,
    ) -> None:
        """All of the backup, or one library of it, which may be `called` otherwise.

        With `replace`, what is there is put aside: with all of the backup, all. Raises NotFoundError and InputError.
        """
        self._archive, self._target = archive, target
        self._workspace, self._replace = workspace, replace
        self.aside = ""
        """Where that is which was there before; nothing where there was none."""
        libraries = archive.contents.libraries
        if workspace is not None:
            libraries = tuple(each for each in libraries if each.workspace == workspace)
            if not libraries:
                raise NotFoundError(
                    f"There is no library {workspace} in the backup.", "crag restore --list names them."
                )
        elif not archive.contents.whole:
            raise InputError(
                "The backup holds single libraries, not all that was stored.", "Name one of them by --workspace."
            )
        self._libraries: Mapping[str, Stored] = {
            check_workspace_name(called or each.workspace): each for each in libraries
        }

    def libraries(
        self, watch: Watch = lambda what, done, of: None, cancel: threading.Event | None = None
    ) -> Iterator[Restored]:
        """Look at all of the backup, restore one library after another, and put all in their place after the last.

        The same again goes on after a kill; what is refused leaves nothing behind. Raises StorageError where the place
        is in use or not empty, InputError for a backup that is damaged, and CancelledError; then everything is as it
        was.
        """
        adds = self._workspace is not None and not any(map(self._target.has, self._libraries))
        with self._target.alone(adds=adds):
            self._check_free()
            self._archive.verify(lambda name, done, of: watch("verified", done, of), cancel)
            unpacked = self._target.begin(self._archive.digest, self._libraries)
            try:
                self._check_room(unpacked)
                for at, stored in enumerate(self._libraries.values(), start=1):
                    self._check_library(stored, unpacked, cancel)
                    watch("checked", at, len(self._libraries))
                for name, stored in self._libraries.items():
                    yield self._made(name, stored, unpacked, watch, cancel)
                if self._workspace is None:
                    self._keep(unpacked, cancel)
            except (InputError, StorageError):
                with suppress(StorageError):  # what it was refused for is what counts
                    self._target.give_up()
                raise
            self.aside = self._target.swap(list(self._libraries), whole=self._workspace is None)
            AuditLog(self._target.teams).note(
                "restore",
                WHO,
                workspace=", ".join(self._libraries) if self._workspace is not None else "",
                what=self._archive.path.name,
                detail=f"made at {self._archive.contents.made_at}; before: {self.aside or 'nothing'}",
            )

    def _check_library(self, stored: Stored, unpacked: Path, cancel: threading.Event | None) -> None:
        """That a library is one, before the first is made. Raises InputError."""
        file = unpacked / "checked.db"
        try:
            self._archive.extract(member_of(stored.workspace), file, cancel)
            _check_tables(file, self._archive.path.name)
        finally:
            file.unlink(missing_ok=True)

    def _made(
        self, name: str, stored: Stored, unpacked: Path, watch: Watch, cancel: threading.Event | None
    ) -> Restored:
        folder = unpacked / "one" / name
        with translate_errors(folder):
            folder.mkdir(mode=0o700, parents=True)
        file = folder / "library.db"
        self._archive.extract(member_of(stored.workspace), file, cancel)
        copy = copy_library(
            FolderPlace(folder),
            self._target.place(name),
            watch=lambda table, done, of: watch(f"{name}: {table}", done, of),
            cancel=cancel,
        )
        if not copy.whole:
            raise StorageError(
                f"The library {name} differs from the backup after it was restored.",
                "Nothing was changed. Check the disk, then give the command again.",
            )
        index = self._target.fill(name)
        shutil.rmtree(unpacked / "one", ignore_errors=True)
        return Restored(workspace=name, copy=copy, index=index)

    def _keep(self, unpacked: Path, cancel: threading.Event | None) -> None:
        teams = unpacked / TEAMS_FILE if self._archive.contents.teams else None
        if teams is not None:
            self._archive.extract(TEAMS_FILE, teams, cancel)
            _check_tables(teams, self._archive.path.name)
        kept = {name: self._archive.bytes_of(name) for name in self._archive.contents.kept}
        self._target.keep(kept, teams)

    def _check_free(self) -> None:
        """Raises StorageError where something would be replaced that may not be."""
        there = self._target.holds() if self._workspace is None else list(filter(self._target.has, self._libraries))
        if there and not self._replace:
            some = ", ".join(there[:3]) + (f" and {len(there) - 3} more" if len(there) > 3 else "")
            raise StorageError(
                f"Something is stored there already: {some}.",
                "Choose an empty place, or add --replace: what is there is kept aside. Nothing was changed.",
            )

    def _check_room(self, unpacked: Path) -> None:
        sizes = [each.size for each in self._libraries.values()]
        needs = max(sizes, default=0) + (2 * sum(sizes) if self._target.room else 0) + _SPARE
        free = shutil.disk_usage(unpacked).free
        if free < needs:
            raise StorageError(
                f"The backup may need {needs / 2**20:,.0f} MB, and {free / 2**20:,.0f} MB are free there.",
                "Make room, or choose a place with more. Nothing was changed.",
            )


def put_back(target: Target) -> str:
    """Undo the latest restore; where what was there until now is kept. Raises NotFoundError and StorageError."""
    with target.alone(adds=False):
        aside = target.put_back()
        AuditLog(target.teams).note("restore", WHO, what="undone", detail=f"before: {aside or 'nothing'}")
    return aside


@contextmanager
def refusals(target: Target, what: str) -> Iterator[None]:
    """What is refused in the block is noted in the audit log of the place, if there is anything at all."""
    try:
        yield
    except CancelledError:
        raise
    except CragError as error:
        if target.there:
            AuditLog(target.teams).note("restore", WHO, what=what, detail=error.message, refused=True)
        raise


def _check_tables(file: Path, backup: str) -> None:
    """That a file of SQLite which somebody may have made up holds nothing that runs by itself. Raises InputError."""
    with translate_errors(file), closing(connect(file)) as connection:
        found = connection.exec_driver_sql("SELECT type, name FROM sqlite_master").all()
    if any(kind not in ("table", "index") and name not in _OBJECTS for kind, name in found):
        raise InputError(
            f"The file {backup} is no backup: a library in it holds what none does.",
            "Nothing was changed. Use a backup that you have made.",
        )
