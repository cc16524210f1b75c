"""Costs: sums by step that hide nothing."""

import pytest

from crag.core.trace import Trace
from crag.core.types import Answer, Call, Step
from crag.messages.providers import cost_text, figures_of
from crag.providers.prices import Price, by_step, of_day, sum_calls, sum_spent
from tests.support.made import spent

PRICES = {"small": Price(1.0, 2.0), "tavily": Price(call=0.01), "home": Price()}


def call(
    step: Step, given: int | None = None, written: int | None = None, model: str = "small", **more: object
) -> Call:
    values = {"provider": "openai", "seconds": 0.5, **more}
    return Call(step=step, model=model, input_tokens=given, output_tokens=written, **values)  # type: ignore[arg-type]


def run(*calls: Call, by: str = "openai:small") -> Trace:
    """A finished run."""
    return Trace(question="When was the bridge opened?", answer=Answer(text="In 1890 [1].", by=by), calls=calls)


# Sums


def test_tokens_and_calls_cost_what_their_prices_say() -> None:
    calls = [call("evaluate", 1000, 100), call("search", model="", provider="tavily"), call("answer", 500, 50)]
    whole = sum_calls(calls, PRICES)
    assert whole.dollars == pytest.approx((1500 * 1.0 + 150 * 2.0) / 1_000_000 + 0.01)
    assert (whole.calls, whole.searches, whole.input_tokens, whole.output_tokens) == (3, 1, 1500, 150)
    assert (whole.seconds, whole.failed, whole.unknown, cost_text(whole)) == (1.5, 0, 0, "$0.012")


def test_an_unknown_price_is_not_free() -> None:
    only = sum_calls([call("answer", 1000, 10, model="mystery")], PRICES)
    assert (only.unpriced, only.dollars, cost_text(only)) == (1, 0, "no price known")
    mixed = sum_spent([only, sum_calls([call("answer", 1_000_000, 0)], PRICES)])
    assert cost_text(mixed) == "at least $1.00"


def test_tokens_that_nobody_counted_are_not_free_either() -> None:
    for given, written in ((None, None), (100, None), (None, 5)):
        assert cost_text(sum_calls([call("answer", given, written)], PRICES)) == "tokens not counted"


def test_each_step_has_its_own_sums_in_the_order_of_steps() -> None:
    trace = run(call("answer", 10, 1), call("evaluate", 20, 2), call("evaluate", 30, 3), call("verify", error="no"))
    steps = by_step(trace, PRICES)
    assert list(steps) == ["evaluate", "answer", "verify"]
    assert (steps["evaluate"].calls, steps["evaluate"].input_tokens) == (2, 50)
    assert steps["verify"].failed == 1
    assert sum_spent(steps.values()) == sum_calls(trace.calls, PRICES)


@pytest.mark.parametrize("model", ["small", "mystery", "home"])
def test_a_day_s_sums_cost_what_its_calls_did(model: str) -> None:
    calls = [call("answer", 1000, 10, model), call("answer", None, None, model), call("answer", model=model, error="x")]
    day = spent("openai", model, calls=3, failed=1, uncounted=1, seconds=1.5, input_tokens=1000, output_tokens=10)
    assert of_day(day, PRICES) == sum_calls(calls, PRICES)


# What a run took


def test_a_run_s_figures_end_with_its_cost() -> None:
    trace = run(call("evaluate", 5000, 100), call("search", model="", provider="tavily", error="x"))
    assert figures_of(trace, PRICES)[1:] == [
        *(("1", "model call"), ("0", "web searches"), ("0", "grades"), ("1", "failed call")),
        *(("5,000 → 100", "tokens"), ("$0.0052", "")),
    ]
    assert figures_of(run(by="extractive"), PRICES)[-1] == ("", "local models: no cost")
