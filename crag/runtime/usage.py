"""What one run may spend on outside calls, and what it has spent. Shared by its steps, safe across threads.

Services that failed in one run after another are left alone for a while: no run waits for what is known to be down.

A circuit is of one service in one step, for a server may refuse one kind of request only. It opens when the calls of
`RUNS` runs failed and none succeeded in between. When its rest is over, one run may try: its success closes the
circuit, its failure doubles the rest.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from crag.core.errors import BudgetError, CancelledError, CircuitOpenError, CragError, Reason, UnreachableError
from crag.core.types import Call, Step
from crag.runtime.waiting import CLOCK, Clock, iterate, wait_for

RUNS = 3
"""Runs in a row that fail before a service is left alone."""
REST, LONGEST_REST = 15.0, 120.0
"""Seconds of the first rest, and of the longest."""
TRIAL = 60.0
"""Seconds for which others wait for the run that tries."""
PATIENT = 5.0
"""A call that had fewer seconds says nothing about its service when it fails."""
_MOST = 256
"""Services that are remembered."""
_COUNTED: frozenset[Reason] = frozenset({"unreachable", "busy", "reply", "web"})
"""Not: a key or a model's name that is wrong. That fails at once, and only a person can mend it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Service:
    """Whom a call is for. `name` may be shown; `account` tells address and key apart, and is kept in memory alone."""

    name: str
    account: Hashable = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCircuit:
    """A service that is left alone in one step: for this many `seconds` more, after this many `times` it was tried."""

    name: str
    step: Step
    seconds: float
    times: int
    cause: str


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

    def open(self) -> list[OpenCircuit]:
        """What is left alone at present, or being tried."""
        now = self._clock.now()
        with self._lock:
            return [
                OpenCircuit(
                    name=service.name,
                    step=step,
                    seconds=max(0.0, each.until - now) if each.trying is None else 0.0,
                    times=each.opened,
                    cause=each.cause,
                )
                for (service, step), each in self._circuits.items()
                if each.opened
            ]

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


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one run: outside calls, tokens (in and out together) and seconds since the run began."""

    calls: int = 80
    tokens: int = 200_000
    seconds: float = 120.0


class QuotaGuard(Protocol):
    """What more than one run draws on: the calls and dollars of a day. Thread-safe."""

    def take(self) -> None:
        """One call is about to begin. Raises BudgetError where none may."""
        ...

    def paid(self, call: Call) -> None:
        """One that was taken has ended."""
        ...


class _Unlimited:
    """Any number of calls."""

    def take(self) -> None:
        pass

    def paid(self, call: Call) -> None:
        pass


UNLIMITED: QuotaGuard = _Unlimited()


@dataclass(eq=False, slots=True, kw_only=True)
class PendingCall:
    """One outside call while it runs. `seconds` it may take; the tokens are set by who makes it, where it knows them.

    It is among `others` as long as it is open. `since`: when it began, by the meter's clock.
    """

    meter: UsageTracker
    opened: Call
    name: str
    seconds: float
    others: set[PendingCall]
    service: Service
    since: float
    began: float = field(default_factory=time.monotonic)
    input_tokens: int | None = None
    output_tokens: int | None = None

    def ended(self, error: str | None = None, who: str = "", failure: CragError | None = None) -> None:
        """Tells the meter, the first time it is called, how the call ended.

        `failure` says what was wrong with the service; without one a failed call says nothing about it.
        """
        try:
            self.others.remove(self)
        except KeyError:  # given up in one thread when it had ended in the other
            return
        seconds, given, written = time.monotonic() - self.began, self.input_tokens, self.output_tokens
        ended = replace(self.opened, seconds=seconds, input_tokens=given, output_tokens=written, error=error, who=who)
        try:
            self.meter._record(ended)
        finally:
            self.meter._judge(self, error is None, failure)

    def given_up(self) -> None:
        """Ends a call that nobody waits for any more. Where it was waited for long enough, its service is to blame."""
        why, meter = "was given up before its reply was complete.", self.meter
        late = meter.clock.now() - self.since >= PATIENT and not meter.cancel.is_set()
        self.ended(why, self.name, UnreachableError(why, who=self.name) if late else None)


_numbers = itertools.count()
"""Tells one run from another."""

LAST_STEPS: frozenset[Step] = frozenset({"answer", "verify"})
"""The steps that keep no time back."""


class UsageTracker:
    """Admits calls while the budget lasts and records what they took.

    `step` names the step that is running. Setting it, as the graph does, begins that step's share of the time: half
    of what is left, for every step but the last ones, so that a service that hangs leaves time for what comes after.
    `cancel` is set when the person presses Stop.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        cancel: threading.Event | None = None,
        listener: Callable[[Call], None] = lambda call: None,
        step: Step = "retrieve",
        clock: Clock = CLOCK,
        allowance: QuotaGuard = UNLIMITED,
        circuits: Circuits | None = None,
    ) -> None:
        """`listener` is called with every call when it ends, in the thread that made it.

        `allowance` is what each call is taken from beside the run's own budget. `step` is the first or only
        one; given here, it has all of the time. `clock` tells the time that is left.
        `circuits` know which services other runs found to be down; None: each call is tried.
        """
        self._circuits, self._number = circuits, next(_numbers)
        self.budget, self.clock = budget or Budget(), clock
        self.cancel = cancel or threading.Event()
        self._step, self._kept = step, 0.0
        self._listener, self._allowance = listener, allowance
        self._began = clock.now()
        self.waited = 0.0
        """Seconds in which a person was waited for."""
        self._lock = threading.Lock()
        self._calls = self._tokens = 0

    @property
    def step(self) -> Step:
        return self._step

    @step.setter
    def step(self, opened: Step) -> None:
        self._step, self._kept = opened, 0.0
        if opened not in LAST_STEPS:
            self._kept = max(0.0, self.left() / 2)

    @contextmanager
    def call(
        self,
        provider: str,
        model: str = "",
        *,
        service: Service | None = None,
        attempt: int = 1,
        others: set[PendingCall] | None = None,
        translate: Callable[[Exception], Exception] = lambda error: error,
        secret: bool = False,
    ) -> Iterator[PendingCall]:
        """One outside call: admitted if there is room for it, timed, and recorded however it ends.

        `translate` gives its errors as ours. `secret`: what the client raises may repeat the key, so it is not kept as
        the cause of ours. `others`: the calls open beside it, for who may give them up from another thread; a call
        that was given up is recorded once. `service` names what is called, with its address and key; by default the
        provider. Raises CancelledError, BudgetError, CircuitOpenError, what `translate` gives.
        """
        service = service or Service(provider)
        seconds = self._admit_to(service)
        others = others if others is not None else set()
        opened = Call(step=self.step, provider=provider, model=model, seconds=0.0, attempt=attempt)
        call = PendingCall(
            meter=self,
            opened=opened,
            name=service.name,
            seconds=seconds,
            others=others,
            service=service,
            since=self.clock.now(),
        )
        others.add(call)
        try:
            yield call
        except Exception as error:
            ours = translate(error)
            call.ended(*((ours.cause, ours.who, ours) if isinstance(ours, CragError) else (str(ours), "")))
            if ours is error:
                raise
            raise ours from (None if secret else error)
        except BaseException:
            call.given_up()
            raise
        call.ended()

    def _admit_to(self, service: Service) -> float:
        """The seconds that a call of this service may take. Raises as `call` does.

        A call that is refused gives the circuit's one trial back, or other runs would wait for it in vain.
        """
        if self._circuits is None:
            return self._admit()
        self.check()
        step = self.step
        trial = self._circuits.check(service, step, self._number)
        try:
            return self._admit()
        except BaseException:
            if trial:
                self._circuits.left(service, step, self._number)
            raise

    def _admit(self) -> float:
        """Counts one call that is about to begin; the seconds it may take."""
        self.check()
        left = self.left()
        with self._lock:
            if left <= 0:
                account = "The step's share of the" if self._kept else "The"
                raise BudgetError(f"{account} run's {self.budget.seconds:g} seconds for outside calls are over.")
            if self._calls >= self.budget.calls:
                raise BudgetError(f"The run's {self.budget.calls} outside calls are used up.")
            if self._tokens >= self.budget.tokens:
                raise BudgetError(f"The run's {self.budget.tokens:,} tokens are used up.")
            self._calls += 1
        self._allowance.take()  # outside the lock: it may ask the disk
        return left

    def wait_for(self, work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """What the coroutine returns. Raises as `crag.runtime.waiting.wait_for` does."""
        return wait_for(work, seconds=seconds, cancel=self.cancel, clock=self.clock)

    def iterate(self, work: Callable[[], AsyncIterator[T]], seconds: float) -> Iterator[T]:
        """The items as they come. Raises as `wait_for` does."""
        return iterate(work, seconds=seconds, cancel=self.cancel, clock=self.clock)

    def check(self) -> None:
        """Raises CancelledError once the person has pressed Stop."""
        if self.cancel.is_set():
            raise CancelledError("The run was stopped.")

    def left(self) -> float:
        """Seconds until the step's time for outside calls is over; below 0 when it is."""
        return self.budget.seconds - (self.clock.now() - self._began) - self._kept

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time in which the run waits for a person does not count."""
        began = self.clock.now()
        try:
            yield
        finally:
            waited = self.clock.now() - began
            self._began += waited
            self.waited += waited

    def _judge(self, call: PendingCall, well: bool, failure: CragError | None) -> None:
        """Tells the circuits what the call says about its service."""
        if self._circuits is None:
            return
        step = call.opened.step
        if well or failure is not None:
            self._circuits.ended(call.service, step, self._number, failure, call.seconds)
        else:
            self._circuits.left(call.service, step, self._number)

    def _record(self, call: Call) -> None:
        with self._lock:
            self._tokens += (call.input_tokens or 0) + (call.output_tokens or 0)
        self._allowance.paid(call)
        self._listener(call)
