"""Copies people, workspaces, limits and the audit log from one place to another, row by row."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select
from sqlalchemy import inspect as inspected

from crag.admin.store import SCHEMA, Store
from crag.admin.tables import meta, metadata

__all__ = ["copied_teams", "copy_rows"]

_ROWS = 1_000


def copied_teams(source: Store, target: Store) -> None:
    """Copy all rows into a place that has none. Raises StorageError."""
    with source.read() as rows, target.write() as into:
        copy_rows(rows, into)


def copy_rows(rows: Connection, into: Connection, *, everything: bool = False) -> None:
    """Copy all rows from one connection's tables to another's.

    What tables say of themselves only with `everything`: a store has written it already. What an earlier build did not
    have stays empty.
    """
    there = set(inspected(rows).get_table_names(schema=_schema(rows)))
    for table in metadata.sorted_tables:
        if table.name not in there or (table is meta and not everything):
            continue
        asked = select(table).order_by(*table.primary_key)
        for part in rows.execute(asked, execution_options={"yield_per": _ROWS}).mappings().partitions():
            into.execute(insert(table), [dict(row) for row in part])


def _schema(rows: Connection) -> str | None:
    return SCHEMA if rows.dialect.name == "postgresql" else None
