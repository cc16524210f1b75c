"""Data folders that hold everything a program stores, and what is done with them."""

from contextlib import closing
from pathlib import Path

from crag.admin.audit import AuditLog, Entry
from crag.admin.backups import Manifest, create_backup, restore_backup
from crag.admin.store import open_store
from crag.core.config import AppConfig
from crag.storage.places import DataFolder
from tests.support.everything import Everything


class World:
    """A machine with data folders. `""` names its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, AppConfig.of(data=folder / "data")

    def data(self, place: str = "") -> Path:
        return Path(place) if place else self.config.storage.data

    def filled(self, place: str = "", label: str = "alpha") -> Everything:
        return Everything.made(DataFolder(self.data(place)), label)

    def stored(self, place: str = "") -> dict[str, object]:
        """All that is stored at a place."""
        return Everything.found(DataFolder(self.data(place)))

    def backup(self, place: str = "", to: str = "backups", **more: object) -> Path:
        return self.made(place, to, **more)[0]

    def made(self, place: str = "", to: str = "backups", **more: object) -> tuple[Path, Manifest]:
        return create_backup(self.data(place), self.folder / to, **more)  # type: ignore[arg-type]

    def restore(self, file: Path, place: str = "", **more: object) -> tuple[list[str], Path | None]:
        return restore_backup(file, self.data(place), **more)  # type: ignore[arg-type]

    def noted(self, place: str = "") -> list[Entry]:
        """The entries of the audit log about backups and restores, newest first."""
        with closing(open_store(self.data(place))) as store:
            return [entry for entry in AuditLog(store).entries() if entry.act in ("backup", "restore")]
