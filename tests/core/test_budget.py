"""What one run may spend: admitted while calls, tokens and seconds last, and what is refused afterwards."""

from __future__ import annotations

import threading

import pytest

from crag.core.errors import BudgetError, CancelledError
from crag.core.meter import Budget, Call, Meter


def call(**more: int) -> Call:
    return Call(step="answer", provider="p", model="m", seconds=0.1, **more)


def test_calls_are_admitted_while_they_last() -> None:
    meter = Meter(Budget(calls=2))
    assert 0 < meter.admit() <= meter.budget.seconds
    meter.admit()
    with pytest.raises(BudgetError, match="2 outside calls"):
        meter.admit()


def test_tokens_in_and_out_count_and_uncounted_ones_do_not() -> None:
    meter = Meter(Budget(tokens=100))
    meter.record(call(input_tokens=60, output_tokens=39))
    meter.record(call())
    meter.admit()
    meter.record(call(output_tokens=1))
    with pytest.raises(BudgetError, match="100 tokens"):
        meter.admit()


def test_nothing_is_admitted_when_the_time_is_over() -> None:
    with pytest.raises(BudgetError, match="0 seconds"):
        Meter(Budget(seconds=0.0)).admit()


def test_time_in_which_a_person_is_waited_for_does_not_count() -> None:
    meter = Meter(Budget(seconds=0.2))
    with meter.paused():
        threading.Event().wait(0.4)
    assert meter.left() > 0


def test_after_stop_nothing_is_admitted() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        Meter(cancel=stop).admit()


def test_every_call_is_heard_of_and_many_threads_never_pass_the_limit() -> None:
    heard: list[Call] = []
    meter = Meter(Budget(calls=50), listener=heard.append)
    refused: list[BudgetError] = []

    def spend() -> None:
        for _ in range(20):
            try:
                meter.admit()
            except BudgetError as error:
                refused.append(error)
            else:
                meter.record(call(input_tokens=1))

    threads = [threading.Thread(target=spend) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(heard), len(refused)) == (50, 50)
