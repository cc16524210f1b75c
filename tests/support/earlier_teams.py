"""The tables of people and workspaces as they were before version 2."""

from sqlalchemy import Column, Double, MetaData, Table, Text, insert, update

from crag.admin.store import meta, spending
from crag.storage.database import Database


def of_the_version_before(store: Database, day: str, dollars: float) -> None:
    """Bring a store to version 1, with a limit that was changed in the app and the dollars of a day."""
    old = MetaData()
    limits = Table("team_limits", old, *(Column(name, Text, primary_key=True) for name in ("workspace", "name")))
    names = ("workspace", "day", "what")
    used = Table("team_usage", old, *(Column(name, Text, primary_key=True) for name in names), Column("amount", Double))
    with store.write() as connection:
        spending.drop(connection)
        old.create_all(connection)
        connection.execute(insert(limits).values(workspace="", name="all_mb"))
        rows = [("", day, "dollars", dollars), ("default", day, "dollars", dollars), ("", day, "calls", 7)]
        connection.execute(insert(used), [dict(zip((*names, "amount"), row, strict=True)) for row in rows])
        connection.execute(update(meta).where(meta.c.key == "version").values(value="1"))
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA user_version = 1")
