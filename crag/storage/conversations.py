"""The conversations of a library: titled sequences of runs."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, or_, select, update

from crag.core.errors import InputError, NotFoundError
from crag.core.trace import Outcome
from crag.storage.database import Part
from crag.storage.deletions import DeletedRuns, delete_empty, delete_runs
from crag.storage.tables import asked_condition, conversations, facts, runs
from crag.text.formats import iso_now

LONGEST_TITLE = 300
"""Characters of a title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One line of the list: a conversation, or a run that belongs to none, whose `id` is empty then.

    `run` and what follows are of its latest run. `started_at` is ISO 8601, UTC; `via` is as
    `RunStarted` has it, `outcome` is `Trace.outcome`, empty where its figures are gone.
    """

    id: str
    title: str
    run: str
    started_at: str
    via: str
    outcome: Outcome


class Conversations(Part):
    """A library's conversations. Thread-safe, across processes too. Every method raises StorageError."""

    def create(self, title: str, runs_of: Sequence[str] = ()) -> str:
        """Begin a conversation, with runs that belonged to none; others join it by `RunRequest.conversation`. Its id.

        Raises InputError for an empty title, or one of more than `LONGEST_TITLE` characters.
        """
        made = {"id": secrets.token_hex(8), "title": _checked(title), "created_at": iso_now()}
        alone = runs.c.id.in_(runs_of) & runs.c.conversation.is_(None)
        with self._database.write(more=len(title)) as connection:
            connection.execute(insert(conversations).values(made))
            connection.execute(update(runs).where(alone).values(conversation=made["id"]))
        return made["id"]

    def rename(self, id: str, title: str) -> None:
        """Give a conversation another title. Raises NotFoundError, and InputError as `create` does."""
        renamed = update(conversations).where(conversations.c.id == id).values(title=_checked(title))
        with self._database.write(more=len(title)) as connection:
            if not connection.execute(renamed).rowcount:
                raise _unknown(id)

    def latest(self, limit: int = 30, containing: str = "") -> list[Conversation]:
        """Conversations with runs, and runs without one that somebody asked for; those used last come first.

        `containing`: only those with this text in their title or in a question, in small or capital letters.
        """
        r, c = runs.c, conversations.c
        talked = r.conversation.is_not(None)
        last = select(func.max(r.number)).where(talked).group_by(r.conversation)
        inside = select(r.number).where(talked)
        ended = select(facts.c.outcome).where(facts.c.run == r.number).scalar_subquery()
        found = select(
            *(func.coalesce(c.id, "").label("id"), func.coalesce(c.title, r.question).label("title")),
            *(r.id.label("run"), r.started_at, r.via, func.coalesce(ended, "").label("outcome")),
        ).outerjoin(conversations, c.id == r.conversation)
        if containing:
            asked = r.question.icontains(containing, autoescape=True)
            among = r.conversation.in_(select(r.conversation).where(talked, asked))
            found = found.where(or_(c.title.icontains(containing, autoescape=True), asked, among))
        with self._database.read() as connection:
            # The lists of numbers come from indexes alone: no row of ten thousand runs is walked through for them.
            alone = select(r.number).where(asked_condition(connection.dialect), r.number.not_in(inside))
            alone = alone if containing else alone.order_by(r.number.desc()).limit(limit)
            found = found.where(or_(r.number.in_(last), r.number.in_(alone))).order_by(r.number.desc()).limit(limit)
            return [Conversation(**row) for row in connection.execute(found).mappings()]

    def of(self, run: str) -> str:
        """The id of the conversation that a run belongs to; empty of one that belongs to none, and of no run."""
        return self._scalar(select(runs.c.conversation).where(runs.c.id == run)) or ""

    def runs(self, id: str, most: int = 10_000) -> list[str]:
        """The ids of a conversation's latest `most` runs, oldest first; none of one that there is not."""
        asked = select(runs.c.id).where(runs.c.conversation == id).order_by(runs.c.number.desc()).limit(most)
        return self._scalars(asked)[::-1]

    def delete(self, id: str) -> DeletedRuns:
        """Delete a conversation with its runs, as `Runs.delete` does each. Raises NotFoundError."""
        return delete_runs(self._database, runs.c.conversation == id, _unknown(id))

    def drop_empty(self, id: str) -> None:
        """Delete a conversation that no run has come to belong to."""
        if not self.runs(id, 1):
            self._database.free(lambda connection: delete_empty(connection, id))


def _checked(title: str) -> str:
    """In one line. Raises InputError."""
    said = " ".join(title.split())
    if not said:
        raise InputError("A conversation needs a name.", "Type one, then save it.")
    if len(said) > LONGEST_TITLE:
        raise InputError(f"The name has {len(said):,} characters; {LONGEST_TITLE} is the limit.", "Make it shorter.")
    return said


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"There is no conversation {id} in this library.")
