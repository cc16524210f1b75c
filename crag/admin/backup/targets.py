"""Where a backup is restored to: a data folder or a database. What is to come is made apart and swapped in at once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol

from sqlalchemy import MetaData, insert

from crag.admin.copying import copied_teams, copy_rows
from crag.admin.store import FILE, Store
from crag.admin.tables import audit
from crag.admin.tables import metadata as teams_metadata
from crag.core.config import AppConfig
from crag.index.opening import opened
from crag.providers.registry import given_keys
from crag.storage.copying import count_on, fill_index, highest_number
from crag.storage.data_dir_lock import adding, alone, guarded
from crag.storage.database import own_folder
from crag.storage.index_sync import Differences
from crag.storage.key_value_store import CHOSEN, SIGNED_WITH, KeyValueStore
from crag.storage.places import DatabaseHome, DataFolder, Place, ServerPlace
from crag.storage.postgres import KEPT, schema_of
from crag.storage.schemas import APART, Workshop
from crag.storage.sqlite_errors import translate_errors
from crag.storage.swapping import RESTORING, put_back, swap

__all__ = ["DatabaseTarget", "FolderTarget", "Target", "target_of"]

_TEAMS = (FILE, f"{FILE}-wal", f"{FILE}-shm")
_WHAT = "backup.json"
"""Names the backup of which the folder `restoring` is being made."""


class Target(Protocol):
    """A place that may hold libraries already. Nothing of them is touched before `swap`."""

    teams: Store
    room: bool
    """Whether what is restored needs room on this machine's disk."""

    @property
    def there(self) -> bool:
        """Whether there is anything at all, so that something can be noted there."""
        ...

    def alone(self, *, adds: bool) -> AbstractContextManager[None]:
        """The right to change the place; to add a library to it while it is in use, where it `adds` no more than that.

        Raises StorageError where it is in use otherwise, or somebody else restores to it.
        """
        ...

    def has(self, workspace: str) -> bool:
        """Whether there is a library of this name."""
        ...

    def holds(self) -> list[str]:
        """What is there already: workspaces that have a library, and what belongs to none."""
        ...

    def begin(self, digest: str, workspaces: Collection[str]) -> Path:
        """Go on with what was begun of the backup of this digest, or begin; a folder for what is unpacked."""
        ...

    def give_up(self) -> None:
        """Remove all that was begun."""
        ...

    def place(self, workspace: str) -> Place:
        """Where a library is made."""
        ...

    def fill(self, workspace: str) -> Differences | None:
        """Fill the index of a library that was made, where it lies beside it or in Milvus, and compare the two."""
        ...

    def keep(self, kept: Mapping[str, bytes], teams: Path | None) -> None:
        """Make what belongs to no library; `teams`: a file of people and workspaces."""
        ...

    def swap(self, workspaces: Collection[str], *, whole: bool) -> str:
        """Put all that was made in its place; with `whole` all else that is there goes. What was there is kept.

        Returns where; nothing where nothing was there. Raises StorageError.
        """
        ...

    def put_back(self) -> str:
        """Undo the latest swap; where what was there until now is kept. Raises NotFoundError and StorageError."""
        ...


def target_of(home: DataFolder | DatabaseHome, config: AppConfig) -> Target:
    """What a backup is restored to at this place."""
    if isinstance(home, DatabaseHome):
        assert isinstance(home.server, Workshop)
        return DatabaseTarget(home.server, config)
    return FolderTarget(home.data, config)


class FolderTarget:
    """A data folder."""

    room = True

    def __init__(self, data: Path, config: AppConfig) -> None:
        self._data, self._config = data, config
        self._coming = data / RESTORING
        self._adds = False
        self.teams = Store(data)

    @property
    def there(self) -> bool:
        return bool(self.holds())

    def alone(self, *, adds: bool) -> AbstractContextManager[None]:
        self._adds = adds
        return adding(self._data) if adds else alone(self._data)

    def has(self, workspace: str) -> bool:
        return (self._data / "workspaces" / workspace).exists()

    def holds(self) -> list[str]:
        libraries = sorted(each.parent.name for each in (self._data / "workspaces").glob("*/library.db"))
        return [*libraries, *(name for name in (SIGNED_WITH, CHOSEN, FILE) if (self._data / name).exists())]

    def begin(self, digest: str, workspaces: Collection[str]) -> Path:
        said = json.dumps({"digest": digest, "workspaces": sorted(workspaces)}).encode()
        with translate_errors(self._coming):
            if KeyValueStore(self._coming).read(_WHAT) != said:
                shutil.rmtree(self._coming, ignore_errors=True)
                KeyValueStore(self._coming).put(_WHAT, said)
            for name in (*_TEAMS, SIGNED_WITH, CHOSEN):
                (self._coming / name).unlink(missing_ok=True)
            return _empty_folder(self._coming / "unpacked")

    def give_up(self) -> None:
        shutil.rmtree(self._coming, ignore_errors=True)

    def place(self, workspace: str) -> Place:
        return DataFolder(self._coming).place(workspace)

    def fill(self, workspace: str) -> Differences | None:
        folder = DataFolder(self._coming).place(workspace)
        return fill_index(folder, partial(opened, self._config, given_keys(), folder.folder))

    def keep(self, kept: Mapping[str, bytes], teams: Path | None) -> None:
        for name, value in kept.items():
            KeyValueStore(self._coming).put(name, value)
        if teams is not None:
            with closing(Store(teams.parent)) as source, closing(Store(self._coming)) as into:
                copied_teams(source, into)

    def swap(self, workspaces: Collection[str], *, whole: bool) -> str:
        names = ["workspaces", SIGNED_WITH, CHOSEN, *_TEAMS] if whole else [f"workspaces/{each}" for each in workspaces]
        with translate_errors(self._coming):
            shutil.rmtree(self._coming / "unpacked")
            own_folder(self._coming / "workspaces")
        # Who has the folder for himself alone has the guard already.
        with guarded(self._data) if self._adds else nullcontext():
            aside = swap(self._data, {name: (self._coming / name).exists() for name in names})
        return aside.name if aside else ""

    def put_back(self) -> str:
        aside = put_back(self._data)
        return aside.name if aside else ""


class DatabaseTarget:
    """A PostgreSQL database."""

    room = False

    def __init__(self, server: Workshop, config: AppConfig) -> None:
        self._server, self._config = server, config
        self._adds = False
        self.teams, self._kept = Store(config.data, server), KeyValueStore(config.data, server)
        self._mark = ""

    @property
    def there(self) -> bool:
        return bool(self.holds())

    def alone(self, *, adds: bool) -> AbstractContextManager[None]:
        self._adds = adds
        return self._server.alone(used=adds)

    def has(self, workspace: str) -> bool:
        return schema_of(workspace) in self._server.there()

    def holds(self) -> list[str]:
        found = self._server.there()
        apart = [name for name in (SIGNED_WITH, CHOSEN) if self._kept.read(name) is not None]
        return [*found, *apart, *([FILE] if self.teams.made else [])]

    def begin(self, digest: str, workspaces: Collection[str]) -> Path:
        self._mark = hashlib.sha256(f"{digest} {sorted(workspaces)}".encode()).hexdigest()[:12]
        ours = [schema for each in workspaces for schema in self.place(each).schemas]
        self._server.discard(but=ours)
        own_folder(self._config.data)
        with translate_errors(self._config.data / RESTORING):
            return _empty_folder(self._config.data / RESTORING)

    def give_up(self) -> None:
        self._server.discard()
        shutil.rmtree(self._config.data / RESTORING, ignore_errors=True)

    def place(self, workspace: str) -> ServerPlace:
        return ServerPlace(self._server, workspace, schema=self._staged(workspace))

    def fill(self, workspace: str) -> Differences | None:
        if self._config.index == "embedded":
            return None  # each app server makes one of its own
        folder = self._config.data / "workspaces" / workspace
        return fill_index(self.place(workspace), partial(opened, self._config, given_keys(), folder))

    def keep(self, kept: Mapping[str, bytes], teams: Path | None) -> None:
        schema = self._apart
        self._server.drop(schema)
        values = KEPT.to_metadata(MetaData(), schema=schema)
        with self._server.translated(), self._server.writing() as into, into.begin():
            into.exec_driver_sql(f'CREATE SCHEMA "{schema}"')
            values.create(into)
            if kept:
                into.execute(insert(values), [{"name": name, "value": value} for name, value in kept.items()])
            if teams is None:
                return
            into.exec_driver_sql(f"SELECT set_config('search_path', '{schema}', true)")
            made = Store(teams.parent)
            with closing(made) as source, source.read() as rows:
                teams_metadata.create_all(into)
                copy_rows(rows, into, everything=True)
                count_on(into, audit, highest_number(rows, audit))

    def swap(self, workspaces: Collection[str], *, whole: bool) -> str:
        if not self._adds:
            self._server.check_unused()
        arriving = {self._staged(each): schema_of(each) for each in workspaces}
        leaving = [*self._server.there(), APART] if whole else []
        if whole:
            arriving[self._apart] = APART
        stamp = self._server.swap(arriving, leaving)
        shutil.rmtree(self._config.data / RESTORING, ignore_errors=True)
        return f"o_{stamp}_…" if stamp else ""

    def put_back(self) -> str:
        stamp = self._server.put_back()
        return f"o_{stamp}_…" if stamp else ""

    @property
    def _apart(self) -> str:
        return f"r_{self._mark}_apart"

    def _staged(self, workspace: str) -> str:
        return f"r_{self._mark}_{hashlib.sha256(workspace.encode()).hexdigest()[:32]}"


def _empty_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    own_folder(folder)
    return folder
