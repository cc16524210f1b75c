"""Where libraries lie that are copied: in folders, or on a database server; and how a copy takes its place there."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from crag.core.errors import InputError, StorageError
from crag.index.manifest import sync
from crag.storage.database import Database
from crag.storage.records import KeyValueStore, Records
from crag.storage.sqlite import translate_errors

if TYPE_CHECKING:
    from crag.storage.postgres import Server

_DRAFT = "copying.db"
_PREFIX = "w_"
_NAME = re.compile(r"[a-z0-9-]{1,64}")


class Place(Protocol):
    """The place of one library, whether there is one or not. Its draft is a copy that is being made: no app sees it."""

    @property
    def name(self) -> str:
        """What a message calls it."""
        ...

    def records(self) -> Records:
        """The library's records. Who opened them closes them."""
        ...

    def draft(self) -> Records:
        """Those of the draft. Who opened them closes them."""
        ...

    def publish(self) -> None:
        """The draft, which must be closed, becomes the library. Raises StorageError where there is one."""
        ...

    def discard(self) -> None:
        """Remove the draft, which must be closed, if there is one."""
        ...


class Home(Protocol):
    """Where many libraries lie, and beside them what belongs to none."""

    kept: KeyValueStore

    def names(self) -> list[str]:
        """The workspaces that have a library there, in order."""
        ...

    def unnamed(self) -> int:
        """How many libraries lie there under what is no name of a workspace."""
        ...

    def place(self, workspace: str) -> Place:
        """The place of a workspace's library."""
        ...


class FolderPlace:
    """A library's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.absolute().name
        self._whole, self._draft = folder / "library.db", folder / _DRAFT

    def records(self) -> Records:
        return Database(self._whole)

    def draft(self) -> Records:
        return Database(self._draft)

    def publish(self) -> None:
        with translate_errors(self._draft):
            if self._draft.with_name(f"{_DRAFT}-wal").exists():
                raise StorageError(
                    f"The copy at {self.name} is open in another program.", "Wait until that has ended, then go on."
                )
            try:
                os.link(self._draft, self._whole)
            except FileExistsError:
                raise taken_error(self.name) from None
            self._draft.unlink()
            sync(self.folder)

    def discard(self) -> None:
        with translate_errors(self._draft):
            for end in ("", "-wal", "-shm"):
                self._draft.with_name(f"{_DRAFT}{end}").unlink(missing_ok=True)


class ServerPlace:
    """The schema of a workspace on a database server."""

    def __init__(self, server: Server, workspace: str, *, schema: str = "") -> None:
        """`schema`: which it is, if not that of an app's library."""
        from crag.storage.postgres import schema_of

        self.name, self._server = workspace, server
        self._whole = schema or schema_of(workspace)
        self._draft = f"c_{hashlib.sha256(self._whole.encode()).hexdigest()[:40]}"

    @property
    def schemas(self) -> tuple[str, str]:
        """The library's and the draft's, there or not."""
        return self._whole, self._draft

    def records(self) -> Records:
        from crag.storage.postgres import SchemaRecords

        return SchemaRecords(self._server, self.name, schema=self._whole)

    def draft(self) -> Records:
        from crag.storage.postgres import SchemaRecords

        return SchemaRecords(self._server, self.name, schema=self._draft)

    def publish(self) -> None:
        if not self._server.rename(self._draft, self._whole):
            raise taken_error(self.name)

    def discard(self) -> None:
        self._server.drop(self._draft)


class DataFolder:
    """An app's data folder, whose libraries have a folder each."""

    def __init__(self, data: Path) -> None:
        self.data, self.kept, self._root = data, KeyValueStore(data), data / "workspaces"

    def names(self) -> list[str]:
        return sorted(filter(_NAME.fullmatch, self._all()))

    def unnamed(self) -> int:
        return len(self._all()) - len(self.names())

    def place(self, workspace: str) -> FolderPlace:
        return FolderPlace(self._root / workspace)

    def _all(self) -> list[str]:
        return [file.parent.name for file in self._root.glob("*/library.db")]


class DatabaseHome:
    """A database that holds libraries."""

    def __init__(self, server: Server) -> None:
        self.kept, self.server = KeyValueStore(Path(), server), server

    def names(self) -> list[str]:
        found = (name.removeprefix(_PREFIX) for name in self.server.sizes() if name.startswith(_PREFIX))
        return sorted(filter(_NAME.fullmatch, found))

    def unnamed(self) -> int:
        return len(self.server.sizes()) - len(self.names())

    def place(self, workspace: str) -> ServerPlace:
        return ServerPlace(self.server, workspace)


def check_workspace_name(workspace: str) -> str:
    """The name of a workspace, as it was given. Raises InputError for what can be none."""
    if not _NAME.fullmatch(workspace):
        raise InputError(
            f"{workspace!r} is no name for a workspace.", "Use 1 to 64 of the characters a to z, 0 to 9 and -."
        )
    return workspace


def taken_error(name: str) -> StorageError:
    """What is said where a copy would have to replace something."""
    return StorageError(
        f"There is a library {name} already, which is no copy of this one.",
        "Nothing was changed. Choose another place, or remove that library first.",
    )
