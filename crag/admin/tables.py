"""The tables of teams.db, the same in SQLite and PostgreSQL. Times are ISO 8601 in UTC, as text."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = 1
"""Of these tables. A file of a newer one is refused; `crag.admin.store` brings an older one up to date."""

metadata = MetaData()

meta = Table("team_meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

people = Table(
    "team_people",
    metadata,
    Column("id", Text, primary_key=True),
    # Who somebody is, says the provider of their sign-in: `sub` is unique within `iss` alone (OpenID Connect Core 2).
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("role", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("seen_at", Text, nullable=False),
    Column("removed_at", Text, nullable=False, server_default=""),
    UniqueConstraint("issuer", "subject"),
)

sign_ins = Table(
    "team_sign_ins",
    metadata,
    # SHA-256 of what the provider said at that sign-in.
    Column("hash", Text, primary_key=True),
    # When it ends by itself, and this row can go.
    Column("ends_at", Text, nullable=False),
    # Signed out: a copy of its cookie is worth nothing from then on.
    Column("over", Boolean, nullable=False),
)

workspaces = Table(
    "team_workspaces",
    metadata,
    # The name of its library: a folder below data/workspaces, or a schema.
    Column("name", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("used_at", Text, nullable=False),
    # Not in use: when an idle workspace ends stands in team_usage, with what was seen of its warning.
    Column("ends_at", Text, nullable=False, server_default=""),
)

members = Table(
    "team_members",
    metadata,
    Column("workspace", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    PrimaryKeyConstraint("workspace", "kind", "who"),
)
"""`kind`: "person", by id or, before they first signed in, by e-mail; or "group", a value of the groups claim."""

links = Table(
    "team_links",
    metadata,
    Column("id", Text, primary_key=True),
    # SHA-256 of what stands in the address: the link itself is stored nowhere.
    Column("hash", Text, nullable=False, unique=True),
    Column("workspace", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("ends_at", Text, nullable=False),
    Column("ended_at", Text, nullable=False, server_default=""),
)

limits = Table(
    "team_limits",
    metadata,
    # "" is the whole server.
    Column("workspace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Double, nullable=False),
    # Counts changes: who changes a limit names the one that they saw, and is refused where somebody was faster.
    Column("edition", Integer, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("changed_at", Text, nullable=False),
    PrimaryKeyConstraint("workspace", "name"),
)

usage = Table(
    "team_usage",
    metadata,
    Column("workspace", Text, nullable=False),
    Column("day", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("amount", Double, nullable=False),
    PrimaryKeyConstraint("workspace", "day", "what"),
)

audit = Table(
    "team_audit",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("refused", Boolean, nullable=False),
    Index("team_audit_at", "at"),
    sqlite_autoincrement=True,
)
