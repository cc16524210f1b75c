"""Runs that a killed program left unfinished: each is stored as one that was cut off, with its question."""

from __future__ import annotations

from pydantic import ValidationError

from crag.core import events as ev
from crag.core.errors import CutOffError
from crag.core.events import event_from_json
from crag.core.trace import Trace
from crag.storage.library import Library

__all__ = ["settle_runs"]

_CUT_OFF = CutOffError("The program ended in the middle of this run.")


def settle_runs(library: Library) -> int:
    """Store every run of the library that no program is making any more; how many there were. Raises StorageError."""
    found = [work for work in library.in_flight.cut_off() if work.kind == "run"]
    for work in found:
        try:
            first = event_from_json(work.first)
        except ValidationError:  # of another version of this program
            library.in_flight.over(work.id)
            continue
        events = [first, ev.Failed.of(_CUT_OFF, "retrieve", 0.0, fatal=True), ev.RunFinished(at=0.0)]
        library.runs.save(Trace.from_events(events), events)
    return len(found)
