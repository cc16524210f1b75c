"""What one run may spend on outside calls, and what it has spent. Shared by its steps, safe across threads."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from crag.core.errors import BudgetError, CancelledError, CragError, UnreachableError
from crag.core.types import Call, Step
from crag.runtime.circuits import PATIENT, Circuits, Service
from crag.runtime.waiting import CLOCK, Clock, iterate, wait_for

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one run: outside calls, tokens (in and out together) and seconds since the run began."""

    calls: int = 80
    tokens: int = 200_000
    seconds: float = 120.0


class QuotaGuard:
    """What more than one run draws on: the calls and dollars of a day; here any number. Thread-safe."""

    def take(self) -> None:
        """One call is about to begin. Raises BudgetError where none may."""

    def paid(self, call: Call) -> None:
        """One that was taken has ended."""


UNLIMITED = QuotaGuard()


@dataclass(eq=False, slots=True, kw_only=True)
class PendingCall:
    """One outside call while it runs. `seconds` it may take; the tokens are set by who makes it, where it knows them.

    It is among `others` as long as it is open. `since`: when it began, by the meter's clock.
    """

    meter: UsageTracker
    opened: Call
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
        self.ended(why, self.service.name, UnreachableError(why, who=self.service.name) if late else None)


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
        `circuits` know which services other runs found to be down; None: there are no other runs.
        """
        self._circuits, self._number = circuits or Circuits(clock), next(_numbers)
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
    def spare(self) -> tuple[int, int]:
        """The calls and the tokens that are left."""
        with self._lock:
            return self.budget.calls - self._calls, self.budget.tokens - self._tokens

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
