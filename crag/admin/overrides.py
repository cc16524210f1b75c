"""Limits that were changed while the program runs: for the whole server, and for one workspace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, exists, insert, select, update

from crag.admin.quantities import QUANTITIES
from crag.admin.store import Store
from crag.admin.tables import limits, workspaces
from crag.core.config import AppConfig
from crag.core.errors import CragError, InputError

__all__ = ["ChangedError", "Override", "Overrides", "check_value"]

_NONE = -1.0
"""The value of a limit that was changed and is as it is configured again: its edition goes on counting."""


class ChangedError(CragError, reason="input"):
    """Somebody else changed the same limit meanwhile. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A limit as it was changed last. `value` None: as it is configured. `edition` counts changes, from 1."""

    value: float | None
    edition: int
    by: str
    at: str


class Overrides:
    """The changed limits of one store. Every method raises StorageError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> Mapping[tuple[str, str], Override]:
        """By workspace ("" for the whole server) and setting."""
        c = limits.c
        with self._store.read() as connection:
            rows = connection.execute(select(c.workspace, c.name, c.value, c.edition, c.changed_by, c.changed_at)).all()
        return {
            (workspace, name): Override(value=None if value < 0 else value, edition=edition, by=by, at=at)
            for workspace, name, value, edition, by, at in rows
        }

    def put(self, workspace: str, name: str, value: float | None, *, seen: int, by: str) -> Override:
        """Changes one limit, whose edition was `seen` before (0: it was never changed).

        Raises ChangedError where another one is there by now, SettingsError for a value that it can't have, InputError
        for a setting that is no limit of a workspace.
        """
        value = None if value is None else check_value(workspace, name, value)
        c, at = limits.c, datetime.now(UTC).isoformat(timespec="seconds")
        changed = {"value": _NONE if value is None else value, "changed_by": by, "changed_at": at}
        with self._store.write() as connection:
            there = (c.workspace == workspace) & (c.name == name)
            found = connection.execute(select(c.value, c.edition, c.changed_by).where(there)).one_or_none()
            if (found.edition if found else 0) != seen:
                now = "as it is configured" if found is None or found.value < 0 else f"{found.value:,g}"
                raise ChangedError(
                    f"{found.changed_by if found else 'Somebody'} changed this limit meanwhile; it is {now}.",
                    "Look at it as it is now, then change it if it is still wrong. Nothing was overwritten.",
                )
            if found is None:
                connection.execute(insert(limits).values(workspace=workspace, name=name, edition=1, **changed))
            else:
                connection.execute(update(limits).where(there).values(edition=seen + 1, **changed))
        return Override(value=value, edition=seen + 1, by=by, at=at)

    def named(self, workspace: str) -> bool:
        """Whether somebody made a workspace of this name."""
        with self._store.read() as connection:
            found = connection.scalar(select(exists().where(workspaces.c.name == workspace)))
        return bool(found)

    def forget(self, workspace: str) -> None:
        """A workspace that is gone has no limits of its own."""
        with self._store.write() as connection:
            connection.execute(delete(limits).where(limits.c.workspace == workspace))


def check_value(workspace: str, name: str, value: float) -> float:
    """A limit's value. Raises as `Overrides.put` does."""
    own = {each.own for each in QUANTITIES.values()}
    every = own | {each.all for each in QUANTITIES.values() if each.all}
    if name not in (own if workspace else every):
        said = ", ".join(sorted(own if workspace else every))
        raise InputError(
            f"{name[:80]!r} is no limit {'of a workspace' if workspace else 'here'}.", f"There is: {said}."
        )
    whole = AppConfig.model_fields[name].annotation is int and math.isfinite(value) and value == int(value)
    given = AppConfig.from_environment({}, **{name: int(value) if whole else value})
    return float(given.get(name))
