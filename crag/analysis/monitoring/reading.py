"""The figures of a library's runs at today's prices, read again only where something changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.core.runfacts import RunFacts, figures_of
from crag.core.trace import Trace
from crag.providers.prices import Prices, of_day, sum_spent
from crag.storage.facts import Facts


def facts_of(trace: Trace, prices: Prices) -> RunFacts:
    """The figures of a run that has ended."""
    return priced(figures_of(trace), prices)


def priced(facts: RunFacts, prices: Prices) -> RunFacts:
    """The same run at these prices."""
    if not facts.used:
        return facts
    cost = sum_spent(of_day(each, prices) for each in facts.used)
    return replace(facts, dollars=cost.dollars, unpriced=cost.unknown)


@dataclass(frozen=True, slots=True)
class Reading:
    """The runs in the order of their beginning. `version` differs where they do."""

    runs: Sequence[RunFacts]
    version: int


class RunFactsCache:
    """The runs of one library. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[int, RunFacts] = {}
        self._prices: Prices = {}
        self._reading = Reading((), 0)
        self._lock = threading.Lock()

    def read(self, facts: Facts, prices: Prices) -> Reading:
        """All runs as they are now, at these prices. Raises StorageError."""
        with self._lock:
            standing = facts.standing()
            if prices != self._prices:
                self._known, self._prices = {}, dict(prices)
            last = max(self._known, default=0)
            same = len(self._known) == standing.runs and last == standing.last
            if same and self._reading.version:
                return self._reading
            if not same:
                self._take(facts, last)
                if len(self._known) != standing.runs:  # some were deleted
                    self._known = {}
                    self._take(facts, 0)
            runs = sorted(self._known.values(), key=lambda each: each.started_at)
            self._reading = Reading(runs, self._reading.version + 1)
            return self._reading

    def _take(self, facts: Facts, last: int) -> None:
        for number, each in facts.since(last):
            self._known[number] = priced(each, self._prices)
