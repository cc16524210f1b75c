"""The file of a backup: a zip that any tool opens, with a list of hashes; reading it trusts nothing that stands in it.

    manifest.json               what is in it: `Contents`
    libraries/NAME/library.db   a library, a file of SQLite wherever it was stored
    teams.db                    people, workspaces, links, spending, the audit log
    keys.secret                 what the addresses of private libraries are signed with
    settings.json               the choices of the Settings page
    SHA256SUMS                  the hash of each of the others, as sha256sum checks them

The hashes find damage. They are no signature: who can write a backup can write another one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from crag.admin.store import VERSION as TEAMS
from crag.core.errors import CancelledError, InputError, StorageError
from crag.storage.sqlite import translate_errors
from crag.storage.tables import LIBRARY
from crag.storage.values import CHOSEN, SIGNED_WITH

FORMAT = 1
"""Of the file. One of a later format is refused."""
TEAMS_FILE = "teams.db"
_MANIFEST, _HASHES = "manifest.json", "SHA256SUMS"
_WORKSPACE = r"[a-z0-9-]{1,64}"
_LIBRARY = re.compile(rf"libraries/({_WORKSPACE})/library\.db")
_OTHERS = (TEAMS_FILE, SIGNED_WITH, CHOSEN)
_LINE = re.compile(r"([0-9a-f]{64})  ([a-z0-9_./-]{1,120}|SHA256SUMS)")
_STEP = 1024 * 1024
_SMALL = 64 * 1024 * 1024
"""Bytes that the manifest, the hashes and what is kept may have: they are read whole."""
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
"""What Python's zipfile raises for a file that is none, or not a whole one."""

Watch = Callable[[str, int, int], object]
"""Called with what is worked on, how much of it is done, and how much there is."""


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Stored(_Said):
    """One library in a backup: how large its file is, in bytes, of which version, and how much it holds."""

    workspace: str
    version: int
    size: int
    documents: int
    chunks: int
    runs: int


class LeftOut(_Said):
    """A library that the backup does not hold, and why."""

    workspace: str
    why: str


class Contents(_Said):
    """What a backup says of itself.

    `whole`: all libraries were to be in it, and beside them what belongs to none. `models`: the names of the model
    files beside them, which are not in it.
    """

    format: Literal[1] = 1
    program: str
    made_at: str
    whole: bool
    libraries: tuple[Stored, ...]
    teams: int
    """The version of people and workspaces; 0: there were none."""
    kept: tuple[str, ...]
    models: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def member_of(workspace: str) -> str:
    """The name of a library in the file."""
    return f"libraries/{workspace}/library.db"


class Writing:
    """A backup that is being written, in bounded memory; a context manager. Nothing but `finish` makes it a backup."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._hashes: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add(self, name: str, file: Path, cancel: threading.Event | None = None) -> None:
        """Add what a file holds. Raises OSError and CancelledError."""
        made = hashlib.sha256()
        with file.open("rb") as source, self._zip.open(name, "w", force_zip64=True) as into:
            while part := source.read(_STEP):
                check_cancelled(cancel)
                made.update(part)
                into.write(part)
        self._hashes[name] = made.hexdigest()

    def put(self, name: str, data: bytes) -> None:
        """Add these bytes."""
        self._zip.writestr(name, data)
        self._hashes[name] = hashlib.sha256(data).hexdigest()

    def finish(self, contents: Contents) -> None:
        """Add what the backup says of itself, and make all of it last on the disk."""
        self.put(_MANIFEST, contents.model_dump_json(indent=1).encode())
        lines = "".join(f"{made}  {name}\n" for name, made in self._hashes.items())
        self._zip.writestr(_HASHES, lines)
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())


class Archive:
    """A backup that is read; a context manager. What it says is not believed before `verify` has read all of it."""

    def __init__(self, path: Path) -> None:
        """Raises InputError for what is no backup, or not a whole one, and StorageError for one of a later version."""
        self.path = path
        with translate_errors(path):
            if not path.is_file():
                raise InputError(f"There is no backup {path.name}.", "Name the file that crag backup has made.")
            with self._translate_damage():
                self._zip = zipfile.ZipFile(path)
        try:
            self._members = self._list_members()
            self._hashes: dict[str, str] = {}
            self._hashes = self._parse_hashes(self.bytes_of(_HASHES))
            self.contents = self._parse_contents()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def size(self, name: str) -> int:
        """Bytes of a member, unpacked."""
        return self._members[name].file_size

    def verify(
        self, watch: Watch = lambda name, done, of: None, cancel: threading.Event | None = None
    ) -> tuple[int, int]:
        """Read every byte and compare it with its hash; how many members there are, and their bytes.

        Raises InputError at the first that differs, and CancelledError.
        """
        total = sum(self.size(name) for name in self._hashes)
        done = 0
        for name in self._hashes:
            for part in self._parts(name):
                check_cancelled(cancel)
                done += len(part)
                watch(name, done, total)
        return len(self._hashes), total

    def extract(self, name: str, to: Path, cancel: threading.Event | None = None) -> None:
        """Write a member to a new file, for its owner alone. Raises as `verify` does, and StorageError."""
        with translate_errors(to), os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as into:
            for part in self._parts(name):
                check_cancelled(cancel)
                into.write(part)

    def bytes_of(self, name: str) -> bytes:
        """A small member. Raises InputError."""
        if name not in self._members:
            raise self._broken(f"there is no {name}")
        if self.size(name) > _SMALL:
            raise self._broken(f"{name} is too large")
        return b"".join(self._parts(name))

    def _parts(self, name: str) -> Iterator[bytes]:
        """What a member holds, at most as much as it says; compared with its hash at the end."""
        hashed = hashlib.sha256()
        with self._translate_damage(), self._zip.open(self._members[name]) as source:
            while part := source.read(_STEP):
                hashed.update(part)
                yield part
        if name != _HASHES and hashed.hexdigest() != self._hashes[name]:
            raise self._broken(f"{name} differs from its hash")

    def _list_members(self) -> dict[str, zipfile.ZipInfo]:
        """What the zip holds, by name: plain files alone, each once, packed as a backup packs them."""
        found: dict[str, zipfile.ZipInfo] = {}
        for each in self._zip.infolist():
            kind = stat.S_IFMT(each.external_attr >> 16)
            plain = kind in (0, stat.S_IFREG) and not each.is_dir() and not each.flag_bits & 1
            if not plain or each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._broken("it holds what no backup does")
            if each.filename in found:
                raise self._broken("it holds two files of one name")
            found[each.filename] = each
        return found

    def _parse_hashes(self, said: bytes) -> dict[str, str]:
        lines = said.decode("ascii", "replace").splitlines()
        found = [_LINE.fullmatch(line) for line in lines]
        hashes = {each.group(2): each.group(1) for each in found if each}
        if len(hashes) != len(lines) or set(hashes) != set(self._members) - {_HASHES}:
            raise self._broken("the list of its hashes does not fit what it holds")
        return hashes

    def _parse_contents(self) -> Contents:
        said = self.bytes_of(_MANIFEST) if _MANIFEST in self._hashes else b""
        try:
            format = _Format.model_validate_json(said).format
            if format > FORMAT:
                raise _newer("format", format, FORMAT)
            contents = Contents.model_validate_json(said)
        except ValidationError:
            raise self._broken("what it says of itself can't be read") from None
        wanted = {_MANIFEST, *contents.kept, *(member_of(each.workspace) for each in contents.libraries)}
        wanted |= {TEAMS_FILE} if contents.teams else set()
        known = all(name in (*_OTHERS, _MANIFEST) or _LIBRARY.fullmatch(name) for name in wanted)
        if not known or wanted != set(self._hashes) or not set(contents.kept) <= {SIGNED_WITH, CHOSEN}:
            raise self._broken("what it says of itself does not fit what it holds")
        for each in contents.libraries:
            LIBRARY.check(str(each.version), each.workspace)
        if contents.teams > TEAMS:
            raise _newer("people and workspaces", contents.teams, TEAMS)
        return contents

    @contextmanager
    def _translate_damage(self) -> Iterator[None]:
        try:
            yield
        except _FAULTS as error:
            raise self._broken("it is cut off or damaged") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # what is said of a place can't be one
                raise
            raise self._broken("it is cut off or damaged") from error

    def _broken(self, why: str) -> InputError:
        return InputError(
            f"The file {self.path.name} is no whole backup: {why}.",
            "Nothing was changed. Take another backup; this one can't be trusted.",
        )


class _Format(BaseModel):
    format: int


def _newer(what: str, version: int, known: int) -> StorageError:
    return StorageError(
        f"The backup was made by a newer version of this program ({what} {version}; this one knows {known}).",
        "Update the program, then restore it. Nothing was changed.",
    )


def check_cancelled(cancel: threading.Event | None) -> None:
    """Raises CancelledError where it was asked for."""
    if cancel is not None and cancel.is_set():
        raise CancelledError("It was stopped.", "Give the same command again.")


def check_room(folder: Path, needs: int) -> None:
    """Raises StorageError where fewer bytes are free on a folder's disk, whether it exists yet or not."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needs:
        raise StorageError(
            f"The backup may need {needs / 2**20:,.0f} MB, and {free / 2**20:,.0f} MB are free there.",
            "Make room, or choose a place with more. Nothing was changed.",
        )
