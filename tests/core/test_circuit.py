"""A service that fails in one run after another is left alone, tried again by one run, then used again."""

import threading
from typing import Any

import pytest

from crag.core.errors import (
    BudgetError,
    CancelledError,
    CircuitOpenError,
    CragError,
    KeyRejectedError,
    UnreachableError,
)
from crag.core.types import Call
from crag.runtime.circuits import LONGEST_REST, REST, RUNS, Circuits, Service
from crag.runtime.usage import Budget, UsageTracker
from crag.testing.fakes import FakeClock

MODEL, OTHER_KEY = Service("qwen", ("http://one", 1)), Service("qwen", ("http://one", 2))
DOWN = UnreachableError("can't be reached.", who="qwen")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def circuits(clock: FakeClock) -> Circuits:
    return Circuits(clock)


def fail(circuits: Circuits, *runs: int, error: CragError = DOWN, seconds: float = 60) -> None:
    for run in runs:
        circuits.ended(MODEL, "evaluate", run, error, seconds)


def rests(circuits: Circuits, run: int, service: Service = MODEL) -> bool:
    try:
        circuits.check(service, "evaluate", run)
    except CircuitOpenError:
        return True
    return False


def test_one_run_that_fails_often_opens_nothing(circuits: Circuits) -> None:
    fail(circuits, *[1] * 20)
    assert not rests(circuits, 2)


def test_runs_that_fail_one_after_another_open_it_for_that_step_and_that_key_alone(circuits: Circuits) -> None:
    fail(circuits, *range(RUNS))
    with pytest.raises(CircuitOpenError, match=r"can't be reached\..*left alone for 15 seconds more") as caught:
        circuits.check(MODEL, "evaluate", 9)
    assert caught.value.who == "qwen"
    circuits.check(MODEL, "answer", 9)
    assert not rests(circuits, 9, OTHER_KEY)


@pytest.mark.parametrize(
    ("error", "seconds"), [(KeyRejectedError("no."), 60.0), (DOWN, 1.0)], ids=["a wrong key", "no time left"]
)
def test_what_says_nothing_about_the_service_opens_nothing(
    circuits: Circuits, error: CragError, seconds: float
) -> None:
    fail(circuits, *range(2 * RUNS), error=error, seconds=seconds)
    assert not rests(circuits, 99)


def test_after_its_rest_one_run_tries_while_the_others_do_without(circuits: Circuits, clock: FakeClock) -> None:
    fail(circuits, *range(RUNS))
    clock.ahead += REST + 1
    assert not rests(circuits, 10), "this one tries"
    assert rests(circuits, 11)
    assert not rests(circuits, 10), "all its calls may"
    circuits.ended(MODEL, "evaluate", 10, None, 60)
    assert not rests(circuits, 11)


def test_a_trial_that_fails_doubles_the_rest_up_to_the_longest(circuits: Circuits, clock: FakeClock) -> None:
    fail(circuits, *range(RUNS))
    rest = REST
    for run in range(10, 20):
        clock.ahead += rest + 1
        assert not rests(circuits, run)
        fail(circuits, run)
        rest = min(LONGEST_REST, 2 * rest)
        clock.ahead += rest - 1
        assert rests(circuits, 99), "until it is over"
        clock.ahead -= rest - 1


class Empty:
    """A day on which nothing may be spent."""

    def take(self) -> None:
        raise BudgetError("The day's calls are used up.")

    def paid(self, call: Call) -> None:
        raise AssertionError("nothing was taken")


def unrecorded(call: Call) -> None:
    raise OSError("the listener failed")


def stopped() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def meter_of(circuits: Circuits, clock: FakeClock, **how: Any) -> UsageTracker:
    return UsageTracker(circuits=circuits, clock=clock, step="evaluate", **how)


TRIALS: dict[str, tuple[dict[str, Any], BaseException | None, bool]] = {
    "refused by a day's limit": ({"allowance": Empty()}, None, True),
    "refused by the run's calls": ({"budget": Budget(calls=0)}, None, True),
    "refused by the run's time": ({"budget": Budget(seconds=0)}, None, True),
    "stopped before": ({"cancel": stopped()}, None, True),
    "stopped in it": ({}, CancelledError("The run was stopped."), True),
    "given up": ({}, GeneratorExit(), True),
    "interrupted": ({}, KeyboardInterrupt(), True),
    "any exception": ({}, RuntimeError("a defect"), True),
    "a wrong key": ({}, KeyRejectedError("no."), True),
    "no time for it": ({"budget": Budget(seconds=1)}, DOWN, True),
    "not recorded": ({"listener": unrecorded}, None, True),
    "success": ({}, None, True),
    "time-out": ({}, DOWN, False),
}
"""By how a trial ends: how its meter is made, what is raised in it, and whether the next run may call at once."""


@pytest.mark.parametrize("way", TRIALS)
def test_however_a_trial_ends_it_is_given_back(circuits: Circuits, clock: FakeClock, way: str) -> None:
    how, error, next_may = TRIALS[way]
    for run in (-1, -2, -3):
        circuits.ended(MODEL, "evaluate", run, DOWN, 60)
    clock.ahead += REST + 1
    meter = meter_of(circuits, clock, **how)
    try:
        with meter.call("qwen", service=MODEL):
            if error is not None:
                raise error
    except (BudgetError, CragError, OSError, RuntimeError, GeneratorExit, KeyboardInterrupt):
        pass
    assert rests(circuits, -9) is not next_may
    clock.ahead += REST + 1
    assert rests(circuits, -9) is not next_may, "its failure doubles the rest"
