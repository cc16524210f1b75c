"""The runs that may be seen, and all that the Monitor page draws of them, worked out once until something changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crag.analysis.monitoring.figures import Choice, Chosen, choose_runs
from crag.analysis.monitoring.reading import RunFactsCache
from crag.core.errors import CragError
from crag.core.runfacts import RunFacts
from crag.messages.monitoring import Said, compose_sentences
from ui.app.program import prices_in_use, program
from ui.app.session import Session
from ui.components.remembered import remembered

ALL = "*"
"""All libraries together."""
_LEDGERS = 64


@dataclass(frozen=True, slots=True)
class Seen:
    """Runs in the order of their beginning; `key` differs where they do. `unread` libraries could not be read."""

    runs: Sequence[RunFacts]
    key: tuple[object, ...]
    unread: int = 0


def workspaces(session: Session) -> dict[str, str]:
    """The libraries that may be chosen from, by name, with their titles: this session's, first, and for who administers
    all others too. Raises CragError."""
    found = {session.workspace: "This library"}
    if session.may("administer"):
        engine = program().engine
        titles = {each.name: each.title for each in engine.teams.spaces.all()}
        others = sorted({*titles, *engine.private_libraries.libraries.names()} - {session.workspace})
        found |= {name: titles.get(name) or name for name in others}
    return found


def seen(session: Session, workspace: str) -> Seen:
    """The runs of a library, or of all. Raises CragError, also where this visitor may not see them."""
    if workspace == session.workspace:
        reading = _ledger(workspace).read(session.library.facts, prices_in_use())
        return Seen(reading.runs, (workspace, reading.version))
    wanted = [name for name in workspaces(session) if workspace in (ALL, name)]
    runs: list[RunFacts] = []
    key: list[object] = [workspace]
    unread = 0
    for name in wanted:
        try:
            reading = _ledger(name).read(program().engine.library(name).facts, prices_in_use())
        except CragError:
            unread += 1
            continue
        runs += reading.runs
        key += [name, reading.version]
    return Seen(sorted(runs, key=lambda run: run.started_at), tuple(key), unread)


@remembered(max_entries=_LEDGERS)
def _ledger(workspace: str) -> RunFactsCache:
    return RunFactsCache()


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The runs that are looked at in their groups, and what is said of them."""

    found: Chosen
    sentences: Sequence[Said]


def board(seen: Seen, choice: Choice, now: datetime | None = None) -> Board:
    """What is drawn of these runs."""
    hour = (now or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)
    return _board(seen.runs, seen.key, choice, hour)


@remembered(max_entries=32)
def _board(
    _runs: Sequence[RunFacts],
    key: tuple[object, ...],
    choice: Choice,
    now: datetime,
) -> Board:
    found = choose_runs(_runs, choice, now)
    return Board(found=found, sentences=compose_sentences(found))
