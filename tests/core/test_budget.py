"""What one run may spend: admitted while calls, tokens and seconds last, and what is refused afterwards."""

import threading

import pytest

from crag.core.errors import BudgetError, BusyError, CancelledError
from crag.core.types import Call
from crag.runtime.circuits import Service
from crag.runtime.usage import Budget, PendingCall, UsageTracker
from crag.testing.fakes import FakeClock


def call(meter: UsageTracker, given: int | None = None, written: int | None = None) -> float:
    """One call of so many tokens; the seconds it might take."""
    with meter.call("p", "m") as made:
        made.input_tokens, made.output_tokens = given, written
    return made.seconds


def test_tokens_in_and_out_count_and_uncounted_ones_do_not() -> None:
    meter = UsageTracker(Budget(tokens=100))
    call(meter, 60, 39)
    call(meter)
    call(meter, written=1)
    with pytest.raises(BudgetError, match="100 tokens"):
        call(meter)


def test_time_in_which_a_person_is_waited_for_does_not_count() -> None:
    clock = FakeClock()
    meter = UsageTracker(Budget(seconds=100), clock=clock)
    with meter.paused():
        clock.ahead += 200
    assert 0 < meter.left() <= 100 and meter.waited >= 200


def test_after_stop_nothing_is_admitted() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        call(UsageTracker(cancel=stop))


def test_every_call_is_heard_of_and_many_threads_never_pass_the_limit() -> None:
    heard: list[Call] = []
    meter = UsageTracker(Budget(calls=50), listener=heard.append)
    refused: list[BudgetError] = []

    def spend() -> None:
        for _ in range(20):
            try:
                call(meter, 1)
            except BudgetError as error:
                refused.append(error)

    threads = [threading.Thread(target=spend) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(heard), len(refused)) == (50, 50)


def test_a_call_that_fails_is_recorded_and_its_error_is_ours() -> None:
    heard: list[Call] = []
    meter = UsageTracker(listener=heard.append, step="answer")
    key_error = KeyError("the key, sk-123")
    with (
        pytest.raises(BusyError) as caught,
        meter.call("p", "m", attempt=2, translate=lambda error: BusyError(f"p failed: {type(error).__name__}.")),
    ):
        raise key_error
    assert caught.value.__cause__ is key_error
    [made] = heard
    assert (made.step, made.provider, made.model, made.attempt, made.error) == (
        *("answer", "p", "m"),
        *(2, "p failed: KeyError."),
    )


def test_what_may_repeat_a_key_is_not_kept_as_the_cause() -> None:
    with (
        pytest.raises(BusyError) as caught,
        UsageTracker().call("p", translate=lambda error: BusyError("p."), secret=True),
    ):
        raise ValueError("sk-123")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_call_that_was_given_up_is_recorded_once() -> None:
    heard: list[Call] = []
    others: set[PendingCall] = set()
    with UsageTracker(listener=heard.append).call("p", service=Service("p:m"), others=others):
        for each in tuple(others):
            each.given_up()
    assert (
        [each.error for each in heard] == ["was given up before its reply was complete."]
        and heard[0].who == "p:m"
        and not others
    )
