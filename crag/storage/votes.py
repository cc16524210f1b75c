"""Blind votes of people on the answers of two evaluations, one a question, as values of the library itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, delete, or_, select

from crag.core.errors import NotFoundError
from crag.storage import store
from crag.storage.records import Records
from crag.storage.tables import evaluations, meta

VOTE = "vote "
"""Begins the key of a vote in `meta`; the two evaluations' ids and the question's follow."""


class Votes:
    """A library's votes. Thread-safe, across processes too. The two evaluations may be named in any order."""

    def __init__(self, database: Records) -> None:
        self._database = database

    def save(self, pair: tuple[str, str], question_id: str, choice: str) -> None:
        """Store which evaluation's answer is better, by its id, "both" or "neither", in place of an earlier vote.

        Raises NotFoundError where one of the evaluations was deleted, ValueError for another choice.
        """
        if choice not in (*pair, "both", "neither"):
            raise ValueError(f"{choice} is none of the choices")
        value = json.dumps({"choice": choice, "at": datetime.now(UTC).isoformat(timespec="microseconds")})
        known = select(evaluations.c.id).where(evaluations.c.id.in_(pair))
        with self._database.write() as connection:
            if len(connection.execute(known).all()) < len(set(pair)):
                raise NotFoundError("One of the two evaluations was deleted.")
            store.put(connection, meta, [{"key": f"{_prefix(pair)}{question_id}", "value": value}])

    def delete(self, pair: tuple[str, str], question_id: str) -> None:
        """Take a vote back, if there is one."""
        its_own = meta.c.key == f"{_prefix(pair)}{question_id}"
        self._database.free(lambda connection: connection.execute(delete(meta).where(its_own)))

    def of(self, pair: tuple[str, str]) -> dict[str, str]:
        """The choices by question id, the oldest first."""
        prefix = _prefix(pair)
        with self._database.read() as connection:
            asked = select(meta.c.key, meta.c.value).where(meta.c.key.startswith(prefix, autoescape=True))
            found: Mapping[str, dict[str, str]] = {
                key.removeprefix(prefix): json.loads(value) for key, value in connection.execute(asked)
            }
        return {id: found[id]["choice"] for id in sorted(found, key=lambda id: found[id]["at"])}


def forget_votes(connection: Connection, evaluation_id: str) -> None:
    """Delete the votes on an evaluation, in its caller's transaction."""
    key = meta.c.key
    named = or_(key.startswith(f"{VOTE}{evaluation_id} "), key.like(f"{VOTE}% {evaluation_id} %"))
    connection.execute(delete(meta).where(named))


def _prefix(pair: tuple[str, str]) -> str:
    first, second = sorted(pair)
    return f"{VOTE}{first} {second} "
