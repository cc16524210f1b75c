"""The meter: what a run took, step by step, what it cost, and plain RAG beside it; on the page and in an export."""

from dataclasses import replace

import pytest

from crag.core.trace import Trace
from crag.core.types import Call
from crag.export.html import pages
from crag.export.html.meter import meter
from crag.providers.prices import PRICES, Price
from tests.support.inspector import Inspector
from tests.support.whole_run import NASTY, events
from ui.app.program import prices_in_use


def call(step, given=None, written=None, model="gpt-4o-mini", provider="openai", **more):
    values = {"seconds": 0.5, **more}
    return Call(step=step, provider=provider, model=model, input_tokens=given, output_tokens=written, **values)


CALLS = (
    *(call("evaluate", 10_000, 50) for _ in range(10)),
    call("evaluate", seconds=2.0, error=f"Busy {NASTY}."),
    call("search", model="", provider="tavily"),
    call("answer", 4_000, 212),
)


def run(*calls):
    """The whole run, its answer written by a model where it made calls."""
    trace = Trace.from_events(events())
    by = "openai:gpt-4o-mini" if calls else "extractive"
    return replace(trace, calls=calls, answer=replace(trace.answer, by=by))


def said(html):
    seen = Inspector(html)
    assert not seen.open and "img" not in seen.tags and "script" not in seen.tags
    return " ".join(seen.said.split())


def test_a_run_on_this_machine_has_no_cost_and_no_table():
    html = meter(run())
    assert "local models: no cost" in said(html) and "1 web search" in said(html) and "3 grades" in said(html)
    assert "$" not in html and "model call" not in html and "<details" not in html


def test_each_step_has_its_line_with_its_failures_marked():
    html = str(meter(run(*CALLS)))
    assert "Evaluate 1 failed 11 100,000 → 500 7.0 $0.015" in said(html.replace("<td", " <td").replace("<tr", " <tr"))
    assert "Busy &lt;img" in html, "why it failed is told when pointed at"
    rows = said(html.replace("<td", " <td").replace("<tr", " <tr"))
    assert "Search 1 – 0.5 $0.0080" in rows and "Answer 1 4,000 → 212 0.5" in rows
    assert "In all 1 failed 13 104,000 → 712 8.0 $0.024" in rows
    assert "gpt-4o-mini, tavily." in rows


@pytest.mark.parametrize(
    ("calls", "cost"),
    [
        ([call("answer", 10, 1, model="mystery")], "no price known"),
        ([call("answer", 10, 1, model="mystery"), call("evaluate", 1_000_000, 0)], "at least $0.15"),
        ([call("answer")], "tokens not counted"),
    ],
)
def test_a_cost_that_is_not_known_is_not_told_as_nothing(calls, cost):
    shown = said(meter(run(*calls)))
    assert cost in shown and "$0 " not in shown


def test_names_from_outside_are_only_text():
    trace = run(call("answer", 10, 1, model=NASTY))
    assert f"{NASTY}." in said(meter(trace))


def test_the_export_tells_calls_at_the_prices_given():
    prices = {**PRICES, "gpt-4o-mini": Price(100, 100)}
    trace = run(*CALLS)
    whole = pages.page(trace, events(), prices)
    assert (
        "Calls by step" in whole
        and "at the prices" in whole
        and "$10.48" in whole
        and "$10.48" not in pages.page(trace)
    )
    assert meter(trace, prices) == pages.sections(trace, prices)[-1]
    assert "$10.48" in pages.states(trace, events(), prices=prices)


def test_the_program_s_own_prices_are_in_use(monkeypatch):
    monkeypatch.setenv("CRAG_PRICES", "gpt-4o=1/2, home=0/0")
    assert prices_in_use()["gpt-4o"] == Price(1, 2) and prices_in_use()["home"] == Price()
