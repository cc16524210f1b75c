"""Data folders that hold what a program stores, all that lies in one to be compared, and what is done with them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import insert

from crag.admin.audit import AuditLog, Entry
from crag.admin.backups import Manifest, create_backup, restore_backup
from crag.admin.store import FILE, open_store, people, spending
from crag.core.config import AppConfig
from crag.storage.library import Library
from crag.storage.places import DataFolder
from crag.storage.private import PrivateLibraries, name_of
from crag.storage.values import CHOSEN, SIGNED_WITH
from tests.support.library_makers import HashEmbedder, fill

OWN = "'library'", "'backup'", "'restore'", "'team_audit'"
"""What tells rows that are not compared: the id of each library, and what backing up and restoring note themselves."""


class World:
    """A machine with data folders. `""` names its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, AppConfig.of(data=folder / "data")

    def data(self, place: str = "") -> Path:
        return Path(place) if place else self.config.storage.data

    def filled(self, place: str = "", label: str = "alpha") -> str:
        """Store something of each kind; the key of the private library."""
        home = DataFolder(self.data(place))
        key = PrivateLibraries(home.data).issue()
        for name in ("default", name_of(key)):
            with Library(home.folder(name), HashEmbedder()) as library:
                library.documents.delete(fill(library, "gone").id)
                document = fill(library, f"{label} of {name[:7]}")
                library.documents.describe(document.id, {"tags": ("annual", "größe"), "share": 0.1})
                library.labels.save("Why? 为什么", f"{document.id[:16]}-2", "relevant")
                library.conversations.create(label)
        home.values.put(CHOSEN, f'{{"k": "{label}"}}'.encode())
        with closing(open_store(home.data)) as store:
            with store.write() as connection:
                texts = dict.fromkeys(("name", "email", "role", "made_at", "seen_at"), label)
                connection.execute(insert(people).values(id=label, issuer="i", subject="s", groups=["größe"], **texts))
                connection.execute(insert(spending).values(day="d", dollars=0.1))
            AuditLog(store).note("setting", "owner", what=label)
        return key

    def stored(self, place: str = "") -> dict[str, object]:
        """All that is stored at a place."""
        home = DataFolder(self.data(place))
        files = {name: home.folder(name) / "library.db" for name in home.names()} | {FILE: home.data / FILE}
        kept = {name: home.values.read(name) for name in (SIGNED_WITH, CHOSEN)}
        return {**{name: rows_of(file) for name, file in files.items() if file.exists()}, **kept}

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


def rows_of(file: Path) -> list[str]:
    """All tables and rows of a database, as statements."""
    with closing(sqlite3.connect(file)) as connection:
        return [line for line in connection.iterdump() if not any(mark in line for mark in OWN)]
