"""Stops what people began who were removed since, or shut out of its workspace, from whichever process."""

from __future__ import annotations

import logging
import threading

from crag.admin.roles import may
from crag.core.errors import StorageError
from crag.engine import Engine
from crag.runtime.jobs import Jobs

_EVERY = 3.0
"""Seconds between two looks; one without anything under way costs nothing."""

_log = logging.getLogger(__name__)


def begin(engine: Engine, jobs: Jobs) -> threading.Event:
    """Look after it in a thread of its own, until the event that is returned is set."""
    stop = threading.Event()
    threading.Thread(target=_watch, args=(engine, jobs, stop), name="removals", daemon=True).start()
    return stop


def _watch(engine: Engine, jobs: Jobs, stop: threading.Event) -> None:
    while not stop.wait(_EVERY):
        try:
            stop_of_removed(engine, jobs)
        except StorageError as error:
            _log.warning("The list of removed people could not be read: %s", error.message)


def stop_of_removed(engine: Engine, jobs: Jobs) -> None:
    """Stop each job of a person who may not come in any more, or not do this in its workspace. Raises StorageError."""
    theirs = [job for job in jobs.running() if job.who]
    if not theirs:
        return
    welcome = {each.id: each for each in engine.teams.people.all() if each.welcome}
    for job in theirs:
        person = welcome.get(job.who)
        role = engine.teams.spaces.role_in(person, job.workspace) if person is not None else None
        if person is not None and role is None and person.role == "admin":
            role = person.role  # of a library that is no workspace of anybody
        if role is None or not may(role, "ask" if job.kind == "run" else "edit"):
            job.stop()
