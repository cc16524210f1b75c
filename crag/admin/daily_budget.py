"""What one run may spend of a day's outside calls and dollars: taken from the ledger ahead, in small amounts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from crag.admin import told
from crag.admin.usage_store import Refused, UsageStore, Want
from crag.core.errors import DayLimitError
from crag.core.types import Call
from crag.providers.costs import sum_calls
from crag.providers.prices import Price

__all__ = ["DailyBudget", "DailyLimits"]

_AHEAD = 16
"""Calls that are reserved at once."""
_PARTS = 100
"""Of a day's dollars, such a part is reserved at once."""
_SHARE = 1 / 8
"""Of what is left of a day, no more than this is reserved ahead."""
_LEAST = 1e-6
"""Dollars: whether there are any left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyLimits:
    """A day's limits, of the workspace and of the whole server; 0: none. `prices` by model or provider."""

    calls: tuple[float, float] = (0.0, 0.0)
    dollars: tuple[float, float] = (0.0, 0.0)
    prices: Mapping[str, Price]


class DailyBudget:
    """One run's. Thread-safe; to be settled when the run is over.

    Calls can't go over the limit. What a call costs is known when it has ended, so each that is under way counts as
    much as the dearest so far: dollars go over it by the first calls of a run at most, which it makes side by side.
    """

    def __init__(self, ledger: UsageStore, workspace: str, spendable: DailyLimits) -> None:
        self._ledger, self._workspace, self._of = ledger, workspace, spendable
        self._lock = threading.Lock()
        self._within = ""
        self._granted = {"calls": 0.0, "dollars": 0.0}
        self._used = {"calls": 0.0, "dollars": 0.0}
        self._open, self._dearest = 0, 0.0
        self._refused: DayLimitError | None = None

    def __enter__(self) -> DailyBudget:
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()

    def take(self) -> None:
        """One call more. Raises DayLimitError; once it did, it does so to the end of the run."""
        with self._lock:
            if self._refused is None:
                self._reserve()
            if self._refused is not None:
                raise self._refused
            self._used["calls"] += 1
            self._open += 1

    def paid(self, call: Call) -> None:
        cost = sum_calls([call], self._of.prices).dollars
        with self._lock:
            self._open -= 1
            self._used["dollars"] += cost
            self._dearest = max(self._dearest, cost)

    def settle(self) -> None:
        """What was reserved and not used is given back, what was used beyond it is counted."""
        with self._lock:
            self._settle()

    def _reserve(self) -> None:
        wants: dict[str, Want] = {}
        if any(self._of.calls) and self._used["calls"] >= self._granted["calls"]:
            own, all = self._of.calls
            wants["calls"] = Want(least=1, most=_AHEAD, share=_SHARE, own=own, all=all)
        own, all = self._of.dollars
        short = self._used["dollars"] + self._open * self._dearest - self._granted["dollars"]
        if (own or all) and short >= 0:
            part = min(each for each in (own, all) if each) / _PARTS
            wants["dollars"] = Want(
                least=short + _LEAST, most=short + part, share=_SHARE, whole=False, own=own, all=all
            )
        if not wants:
            return
        outcome = self._ledger.reserve(self._workspace, "day", wants)
        if isinstance(outcome, Refused):
            self._refused = told.day_limit(outcome.what, outcome.bound, outcome.within, self._ledger.now())
            return
        if self._within not in ("", outcome.within):
            self._settle()  # the day before
        self._within = outcome.within
        for what, amount in outcome.granted.items():
            self._granted[what] += amount

    def _settle(self) -> None:
        more = {what: self._used[what] - self._granted[what] for what in self._used}
        if not self._within and any(more.values()):
            wants = {what: Want(least=amount, most=amount, whole=False) for what, amount in more.items()}
            self._ledger.reserve(self._workspace, "day", wants)
        elif self._within:
            self._ledger.add(self._workspace, self._within, more)
        self._used, self._granted = dict.fromkeys(self._used, 0.0), dict.fromkeys(self._granted, 0.0)
