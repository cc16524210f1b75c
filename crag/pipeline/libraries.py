"""The libraries that one engine has open: those used last are ready, others rest, and all are gone through at times."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from crag.core import events as ev
from crag.core.errors import CragError, CutOffError, StorageError
from crag.core.events import event_from_json
from crag.core.purging import Due, conditions_of
from crag.core.trace import Trace
from crag.storage.library import Library
from crag.storage.private import PrivateLibraries

_log = logging.getLogger(__name__)

AWAKE = 16
"""Libraries that keep files and indexes open: those used last."""
KNOWN = 512
"""Libraries that are known at all without being opened again."""


class OpenLibraries:
    """Of the libraries used lately, the same one again. Thread-safe."""

    def __init__(self, open: Callable[[Path, bool], Library]) -> None:
        """`open(folder, named)` opens one; `named`: it is one of the data folder's."""
        self._open = open
        self._libraries: OrderedDict[Path, Library] = OrderedDict()
        """The latest last."""
        self._lock = threading.RLock()

    def at(self, folder: Path, named: bool) -> Library:
        with self._lock:
            key = folder.absolute()
            found = self._libraries.pop(key, None)
            if found is None:
                found = self._open(folder, named)
            self._libraries[key] = found
            while len(self._libraries) > KNOWN:
                self._libraries.popitem(last=False)[1].rest()
            # One step a call keeps up: each call wakes at most one library.
            for idle in islice(reversed(self._libraries.values()), AWAKE, AWAKE + 1):
                idle.rest()
            return found

    def forget(self, folder: Path) -> None:
        """Close a library that is to be removed; those who still work with it get an error that says so."""
        with self._lock:
            found = self._libraries.pop(folder.absolute(), None)
        if found is not None:
            found.close()

    def names(self, stores: PrivateLibraries) -> list[str]:
        """All libraries of `stores` that hold anything, in order. Raises StorageError."""
        names, root = stores.libraries.names(), stores.root.absolute()
        with self._lock:
            # What was just written may not show in its file yet.
            used = [folder.name for folder, each in self._libraries.items() if folder.parent == root and each.exists]
        return sorted({*names, *used})

    def tidy(
        self,
        stores: PrivateLibraries,
        purge: str,
        stop: threading.Event,
        renew: Callable[[Library], None] | None = None,
        report: Callable[[str, Due], None] | None = None,
    ) -> None:
        """Purge every library of `stores` as `purge` says (`crag.core.purging.conditions_of`; empty: not at all).

        In each, what no purge can be undone of any more is deleted for good, and what `renew` does is done. `report`
        hears of each document that was purged, with the library's name. What fails
        is logged, and the next library goes on. `stop` ends it between two libraries.
        """
        try:
            names = self.names(stores)
        except StorageError as error:
            _log.warning("the libraries were not purged: %s", error.message)
            return
        for name in names:
            if stop.is_set():
                return
            try:
                with self._borrow(stores.root / name) as library:
                    for each in _tidy_library(library, purge):
                        if report is not None:
                            report(name, each)
                    if renew is not None:
                        renew(library)
            except CragError as error:
                _log.warning("the library %s was not purged: %s", name, error.message)

    def close(self) -> None:
        with self._lock:
            for library in self._libraries.values():
                library.close()
            self._libraries.clear()

    @contextmanager
    def _borrow(self, folder: Path) -> Iterator[Library]:
        """The library if it is known, else one that is closed again: it must not push another out of those in use."""
        with self._lock:
            known = self._libraries.get(folder.absolute())
        if known is not None:
            yield known
            return
        with self._open(folder, True) as library:
            yield library


def _tidy_library(library: Library, purge: str) -> list[Due]:
    """What was purged."""
    if not purge:
        library.purges.expire()
        return []
    found = list(library.purges.purge(conditions_of(purge)))
    for each in found:
        _log.info("purged from %s: %s (%s)", library.folder.name, each.document.id[:12], each.why)
    return found


_CUT_OFF = CutOffError("The program ended in the middle of this run.")


def close_interrupted_runs(library: Library) -> int:
    """Store every run of the library that no program is making any more; how many there were. Raises StorageError."""
    found = [work for work in library.in_flight.cut_off() if work.kind == "run"]
    for work in found:
        try:
            first = event_from_json(work.first)
        except ValidationError:  # of another version of this program
            library.in_flight.finish(work.id)
            continue
        events = [first, ev.Failed.of(_CUT_OFF, "retrieve", 0.0, fatal=True), ev.RunFinished(at=0.0)]
        library.runs.save(Trace.from_events(events), events)
    return len(found)
