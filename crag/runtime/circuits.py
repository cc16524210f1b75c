"""Services that failed in one run after another are left alone for a while: no run waits for what is known to be down.

A circuit is of one service in one step, for a server may refuse one kind of request only. It opens when the calls of
`RUNS` runs failed and none succeeded in between. When its rest is over, one run may try: its success closes the
circuit, its failure doubles the rest.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from crag.core.errors import CircuitOpenError, CragError, Reason
from crag.core.types import Step
from crag.runtime.waiting import CLOCK, Clock

_log = logging.getLogger(__name__)

REST, LONGEST_REST = 15.0, 120.0
"""Seconds of the first rest, and of the longest."""
RUNS = 3
"""Runs in a row that fail before a service is left alone."""
TRIAL = 60.0
"""Seconds for which others wait for the run that tries."""
PATIENT = 5.0
"""A call that had fewer seconds says nothing about its service when it fails."""
_MOST = 256
"""Services that are remembered."""
_COUNTED: frozenset[Reason] = frozenset({"unreachable", "busy", "reply", "web"})
"""Not: a key or a model's name that is wrong. That fails at once, and only a person can mend it."""


@dataclass(frozen=True, slots=True)
class Service:
    """Whom a call is for. `name` may be shown; `account` tells address and key apart, and is kept in memory alone."""

    name: str
    account: Hashable = None


@dataclass(slots=True)
class _Circuit:
    failed: set[int] = field(default_factory=set)
    """Runs that failed since the last success."""
    cause: str = ""
    who: str = ""
    opened: int = 0
    """How often in a row it was opened; 0: it is closed."""
    until: float = 0.0
    trying: int | None = None
    """The run that tries."""


class Circuits:
    """The circuits of one engine. Thread-safe."""

    def __init__(self, clock: Clock = CLOCK) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._circuits: OrderedDict[tuple[Service, Step], _Circuit] = OrderedDict()

    def check(self, service: Service, step: Step, run: int) -> bool:
        """Whether this call is the one trial of a service, which `ended` or `left` has to give back.

        Raises CircuitOpenError where the service is left alone.
        """
        with self._lock:
            found = self._circuits.get((service, step))
            if found is None or not found.opened or found.trying == run:
                return False
            left = found.until - self._clock.now()
            if left <= 0:
                found.trying, found.until = run, self._clock.now() + TRIAL
                return True
        raise CircuitOpenError(_resting(found, left), who=found.who)

    def ended(self, service: Service, step: Step, run: int, error: CragError | None, seconds: float) -> None:
        """A call of this run ended; `error` None: well. `seconds` it was given."""
        if error is not None and (error.reason not in _COUNTED or seconds < PATIENT):
            self.left(service, step, run)
        elif error is None:
            self._well(service, step)
        else:
            self._failed(service, step, run, error)

    def left(self, service: Service, step: Step, run: int) -> None:
        """A call ended that says nothing about its service: another run may try."""
        with self._lock:
            found = self._circuits.get((service, step))
            if found is not None and found.trying == run:
                found.trying, found.until = None, self._clock.now()

    def _well(self, service: Service, step: Step) -> None:
        with self._lock:
            found = self._circuits.pop((service, step), None)
        if found is not None and found.opened:
            _log.warning("%s answers again (%s)", service.name, step)

    def _failed(self, service: Service, step: Step, run: int, error: CragError) -> None:
        with self._lock:
            found = self._circuits.setdefault((service, step), _Circuit())
            self._circuits.move_to_end((service, step))
            while len(self._circuits) > _MOST:
                self._circuits.popitem(last=False)
            found.cause, found.who = error.cause, error.who
            found.failed.add(run)
            tried = found.trying == run
            if not tried and (found.opened or len(found.failed) < RUNS):
                return
            rest = min(LONGEST_REST, REST * 2**found.opened)
            found.opened, found.until, found.trying = found.opened + 1, self._clock.now() + rest, None
            first = found.opened == 1
        if first:  # once, however long it lasts
            _log.warning("%s is left alone (%s): %s", service.name, step, error.cause)


def _resting(circuit: _Circuit, left: float) -> str:
    """What is said of a service that is not called, `who` before it where there is one."""
    wait = "while it is being tried" if circuit.trying is not None else f"for {max(1.0, left):.0f} seconds more"
    return f"{circuit.cause} So it was in one run after another: it is left alone {wait}."
