"""A place filled with all that a program stores, and all that lies at one, to be compared."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from sqlalchemy import insert, select

from crag.admin.audit import AuditLog
from crag.admin.store import audit, links, members, metadata, open_store, people, spending, workspaces
from crag.storage.database import Database
from crag.storage.library import Library
from crag.storage.places import DataFolder
from crag.storage.private import PrivateLibraries, name_of
from crag.storage.values import CHOSEN, SIGNED_WITH
from tests.support.library_makers import HashEmbedder
from tests.support.many_rows import fill, many, rows_of


@dataclass(frozen=True)
class Everything:
    """What was put there: a private library's key, and the libraries' names."""

    key: str
    names: tuple[str, ...]

    @classmethod
    def made(cls, home: DataFolder, label: str) -> Everything:
        data = home.data
        private = PrivateLibraries(data)
        key = private.issue()
        names = ("default", name_of(key))
        for name in names:
            with Library(data / "workspaces" / name, HashEmbedder()) as library:
                if name == "default":
                    many(library)
                fill(library, f"{label} of {name[:7]}")
        home.values.put(CHOSEN, f'{{"k": "{label}"}}'.encode())
        with closing(open_store(data)) as store:
            _people(store, label)
        return cls(key, names)

    @classmethod
    def found(cls, home: DataFolder) -> dict[str, object]:
        data = home.data
        kept = {name: home.values.read(name) for name in (SIGNED_WITH, CHOSEN)}
        with closing(open_store(data)) as store, store.read() as rows:
            teams: dict[str, object] = {
                table.name: sorted(
                    repr(tuple(row))
                    for row in rows.execute(select(table))
                    # What backing up and restoring note themselves is theirs alone.
                    if table is not audit or row[3] not in ("backup", "restore")
                )
                for table in metadata.sorted_tables
            }
        return {**{name: rows_of(home.store(name)) for name in home.names()}, **kept, **teams}


def _people(store: Database, label: str) -> None:
    names = ("name", "email", "role", "made_at", "seen_at")
    with store.write() as into:
        for at in range(3):
            person = {"id": f"{label}{at}", "issuer": "i", "subject": f"s{at}", "groups": ["größe", str(at)]}
            into.execute(insert(people).values(**person, **dict.fromkeys(names, "x")))
        into.execute(insert(workspaces).values(name="default", title=label, owner="o", made_at="a", used_at="b"))
        into.execute(insert(members).values(workspace="default", kind="person", who="w", role="viewer", made_at="a"))
        into.execute(
            insert(links).values(id="1", hash=label, workspace="default", made_by="m", made_at="a", ends_at="b")
        )
        into.execute(insert(spending).values(day="d", dollars=0.1))
    AuditLog(store).note("setting", "owner", what=label)
