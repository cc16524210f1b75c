"""Moves libraries between folders and databases: which go where by a person's words, and each copy with its index."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from crag.core.config import AppConfig
from crag.core.errors import CancelledError, CragError, InputError, NotFoundError, SettingsError
from crag.index.embedded import opened
from crag.providers.registry import given_keys
from crag.storage.copying import Copy, copy_library, fill_index, kept_copied
from crag.storage.index_sync import Differences
from crag.storage.places import DataFolder, LibraryRoot, Place, check_workspace_name
from crag.storage.records import server_at

if TYPE_CHECKING:
    from crag.storage.postgres import Server

_DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What came of one library: its copy or an error, and how the copy's index differs from its records.

    `index` is None where the copy is not whole, and where each app server makes an index of its own when it is first
    asked: that of a library on a database server, unless it is in Milvus.
    """

    workspace: str
    copy: Copy | None = None
    index: Differences | None = None
    error: CragError | None = None

    @property
    def whole(self) -> bool:
        return self.copy is not None and self.copy.whole and not self.index and self.error is None


class Move:
    """Libraries on their way from one place to another; a context manager, which closes what it opened.

    A place is a library's own folder; a data folder, which holds `workspaces`; `database`, which CRAG_DATABASE_URL
    names; `env:NAME`, the database whose address another variable holds; or such an address itself.
    """

    def __init__(
        self, source: str, target: str, config: AppConfig, *, workspace: str | None = None, every: bool = False
    ) -> None:
        """One library, by default that of the workspace "default", or with `every` all of them.

        Nothing is read or made yet. Raises NotFoundError and InputError for words that name no such place.
        """
        self._config, self._stack = config, ExitStack()
        self._workspace, self._every = workspace, every
        with ExitStack() as stack:
            self._source = self._database(source, stack) or _there(source)
            self._target = self._database(target, stack) or _parse_place(target, every)
            self._stack = stack.pop_all()

    def __enter__(self) -> Move:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def kept(self) -> dict[str, str]:
        """Copy what belongs to no library, where all are copied: see `crag.storage.copying.kept_copied`."""
        return kept_copied(_root(self._source).values, _root(self._target).values) if self._every else {}

    def left_out(self) -> int:
        """How many libraries are not copied, because no workspace can have their name."""
        return _root(self._source).unnamed() if self._every else 0

    def libraries(
        self,
        *,
        watch: Callable[[str, str, int, int], object] = lambda workspace, table, done, of: None,
        cancel: threading.Event | None = None,
    ) -> Iterator[Moved]:
        """Copy one after another and fill their indexes; one that fails keeps no other from its turn.

        `watch(workspace, table, done, of)` is called as rows are copied. Raises CancelledError, and InputError for what
        can't be a workspace's name.
        """
        for name, source, target in self._pairs():
            copy = None
            try:
                copy = copy_library(source, target, watch=partial(watch, name), cancel=cancel)
                yield Moved(workspace=name, copy=copy, index=self._filled(name, target) if copy.whole else None)
            except CancelledError:
                raise
            except CragError as error:
                yield Moved(workspace=name, copy=copy, error=error)

    def _pairs(self) -> list[tuple[str, Place, Place]]:
        source, target = self._source, self._target
        if self._every:
            return [(name, _place(source, name), _place(target, name)) for name in _root(source).names()]
        name = self._workspace or (source.name if isinstance(source, Place) else _DEFAULT)
        return [(name, _place(source, name), _place(target, name))]

    def _filled(self, workspace: str, target: Place) -> Differences | None:
        if self._config.storage.index == "embedded" and target.folder is None:
            return None
        beside = target.folder or self._config.storage.data / "workspaces" / workspace
        return fill_index(target, partial(opened, self._config, given_keys(), beside))

    def _database(self, said: str, stack: ExitStack) -> Server | None:
        """The database that is named so, closed with the stack; None for a folder."""
        server = server_at(database_named(said, self._config))
        if server is not None:
            stack.callback(server.close)
        return server


def database_named(said: str, config: AppConfig) -> str:
    """The address of the database that is named so; nothing where a folder is named. Raises SettingsError."""
    if said == "database":
        variable, url = "CRAG_DATABASE_URL", config.storage.database_url
    elif said.startswith("env:"):
        variable = said.removeprefix("env:")
        url = os.environ.get(variable, "")
    else:
        return said if "://" in said else ""
    if not url:
        raise SettingsError(f"{variable} holds no address of a database.", "Set it, or name a folder.")
    return url


def _there(said: str) -> Place | LibraryRoot:
    folder = Path(said)
    if (folder / "library.db").is_file():
        return Place.at(folder)
    if (folder / "workspaces").is_dir():
        return DataFolder(folder)
    raise NotFoundError(f"There is no library in {said}, and no folder workspaces.", "Name another folder.")


def _parse_place(said: str, every: bool) -> Place | LibraryRoot:
    folder = Path(said)
    if (folder / "workspaces").is_dir() or (every and not (folder / "library.db").exists()):
        return DataFolder(folder)
    return Place.at(folder)


def _place(place: Place | LibraryRoot, workspace: str) -> Place:
    """The place of one library. Raises InputError where it needs the name of a workspace, and this can be none."""
    return place if isinstance(place, Place) else place.place(check_workspace_name(workspace))


def _root(place: Place | LibraryRoot) -> LibraryRoot:
    """A place of many libraries. Raises InputError for the place of one."""
    if isinstance(place, Place):
        raise InputError("All libraries can't be copied from or to the folder of one.", "Leave --all out.")
    return place
