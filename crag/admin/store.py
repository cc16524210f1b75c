"""The tables of people, workspaces, links, spending and the audit log: in a file of the data folder, or a schema."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
)

from crag.storage.database import Database
from crag.storage.layout import Layout
from crag.storage.postgres import PostgresSchema, Server
from crag.storage.sqlite import SqliteFile

VERSION = 2
"""The number of the layout of these tables. A database of another one is refused."""

metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


meta = Table("team_meta", metadata, Column("key", Text, primary_key=True), *_texts("value"))

# The provider of a sign-in says who somebody is: `subject` is unique within `issuer` alone (OpenID Connect Core 2).
people = Table(
    "team_people",
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("issuer", "subject", "name", "email"),
    Column("groups", JSON, nullable=False),
    *_texts("role", "made_at", "seen_at"),
    Column("removed_at", Text, nullable=False, server_default=""),
    UniqueConstraint("issuer", "subject"),
)

# `hash`: SHA-256 of what the provider said at a sign-in. `ends_at`: when it ends by itself, and this row can go.
# `over`: signed out, so that a copy of its cookie is worth nothing from then on.
sign_ins = Table(
    "team_sign_ins",
    metadata,
    Column("hash", Text, primary_key=True),
    *_texts("ends_at"),
    Column("over", Boolean, nullable=False),
)

# `name`: of its library, a folder below data/workspaces or a schema.
workspaces = Table(
    "team_workspaces",
    metadata,
    Column("name", Text, primary_key=True),
    *_texts("title", "owner", "made_at", "used_at"),
)

# `kind`: "person", by id or, before they first signed in, by e-mail; or "group", a value of the groups claim.
members = Table(
    "team_members",
    metadata,
    *_texts("workspace", "kind", "who", "role", "made_at"),
    PrimaryKeyConstraint("workspace", "kind", "who"),
)

# `hash`: SHA-256 of what stands in the address; the link itself is stored nowhere.
links = Table(
    "team_links",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),
    *_texts("workspace", "made_by", "made_at", "ends_at"),
    Column("ended_at", Text, nullable=False, server_default=""),
)

# `dollars`: what the outside calls of a day (UTC) have cost.
spending = Table(
    "team_spending",
    metadata,
    Column("day", Text, primary_key=True),
    Column("dollars", Double, nullable=False),
)

audit = Table(
    "team_audit",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_texts("at", "who", "act", "workspace", "what", "detail"),
    Column("refused", Boolean, nullable=False),
    Index("team_audit_at", "at"),
    sqlite_autoincrement=True,
)


def _fill(connection: Connection) -> None:
    connection.execute(insert(meta).values(key="version", value=str(VERSION)))


TEAMS = Layout(
    metadata=metadata,
    version=VERSION,
    version_table=meta,
    stored_version=select(meta.c.value).where(meta.c.key == "version"),
    what="The database of people and workspaces in {}",
    fill=_fill,
    shares_schema=True,
)
FILE = "teams.db"
SCHEMA = "crag"


def open_store(data: Path, server: Server | None = None) -> Database:
    """The tables of a data folder, or of a database. Nothing is created before the first write."""
    if server is None:
        return Database(SqliteFile(data / FILE, TEAMS))
    return Database(PostgresSchema(server, "people and workspaces", TEAMS, SCHEMA))
