"""Places that hold everything a program stores, in data folders and a database, and what is done with them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from crag.admin.audit import AuditLog, Entry
from crag.admin.backup.archive import Archive
from crag.admin.backup.home import home_of
from crag.admin.backup.restoring import Restore, Restored
from crag.admin.backup.sources import source_of
from crag.admin.backup.taking import Taken, take_backup
from crag.admin.backup.targets import Target, target_of
from crag.core.config import AppConfig
from crag.storage.places import DatabaseHome, DataFolder
from tests.support.everything import Everything


class World:
    """A machine with data folders, and perhaps a database. `""` names its own data folder, `database` its database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.config = folder, AppConfig(data=folder / "data", database_url=url)
        self.stack = ExitStack()

    def home(self, place: str) -> DataFolder | DatabaseHome:
        return home_of(place or str(self.config.data), self.config, self.stack, there=False)

    def target(self, place: str = "") -> Target:
        return target_of(self.home(place), self.config)

    def filled(self, place: str = "", label: str = "alpha") -> Everything:
        return Everything.made(self.home(place), self.config, label)

    def stored(self, place: str = "") -> dict[str, object]:
        """All that lies at a place."""
        return Everything.found(self.home(place), self.config)

    def backup(self, place: str = "", to: str = "backups", **more: object) -> Taken:
        return take_backup(source_of(self.home(place), self.config.data), self.folder / to, **more)  # type: ignore[arg-type]

    def restore(self, file: Path, place: str = "", **more: object) -> tuple[list[Restored], str]:
        with Archive(file) as archive:
            restore = Restore(archive, self.target(place), **more)  # type: ignore[arg-type]
            return list(restore.libraries()), restore.aside

    def noted(self, place: str = "") -> list[Entry]:
        """What the audit log says of backing up and restoring, newest first."""
        with closing(self.target(place).teams) as store:
            return [entry for entry in AuditLog(store).entries() if entry.act in ("backup", "restore")]
