"""The Costs tab: spending by day, and prices that can be corrected where they may be; in words where they may not."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from crag.core.errors import SettingsError
from crag.core.trace import Trace
from crag.core.types import Call
from crag.providers.prices import PRICES, Price
from tests.support.app_text import said
from ui.app.program import program
from ui.settings import costs

TAB = """
from ui.components import problems
from ui.settings import costs
from ui.app.session import Session
with problems.reported():
    costs.show(Session())
"""


@pytest.fixture
def tab(data):
    return AppTest.from_string(TAB, default_timeout=60)


def spend(days, *calls):
    """Store a run that made these calls so many days ago."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    run = Trace(run_id=f"{days}-{len(calls)}", question="q", started_at=at, calls=calls, finished=True)
    program().engine.library("default").runs.save(run, [])


def call(given=None, written=None, model="gpt-4o-mini", provider="openai", **more):
    values = {"step": "answer", "seconds": 0.5, **more}
    return Call(provider=provider, model=model, input_tokens=given, output_tokens=written, **values)


def shown(tab):
    tab.run()
    assert not tab.exception
    return said(tab)


def prices_of(tab):
    """The table of prices as it stands on the page: its names and figures."""
    frame = next(frame for frame in tab.dataframe if "Per call" in frame.value.columns)
    return costs.edited(frame.value.to_dict("records"))


# Spending


def test_days_models_and_sums_are_told(tab):
    spend(0, call(1_000_000, 0), call(error="busy"), call(model="", provider="tavily"))
    spend(3, call(10, 5, model="mystery"))
    words = shown(tab)
    assert "at least $0.16" in words and "<b>4</b> calls, 1 failed" in words
    assert "1,000,010 → 5" in words and "1 call of models without a price" in words
    rows = tab.dataframe[0].value.to_dict("records")
    assert [(row["Model"], row["Cost"], row["Failed"]) for row in rows] == [
        ("gpt-4o-mini", "$0.15", 1),
        ("tavily", "$0.0080", 0),
        ("mystery", "no price known", 0),
    ]
    assert rows[0]["Day"] > rows[2]["Day"] and rows[0]["Tokens in"] == 1_000_000


# Prices


def test_the_user_s_prices_are_shown_used_and_can_be_given_up(tab, data):
    program().configure(prices=("gpt-4o-mini=1/2", "home=0/0", "tavily=none"))
    spend(0, call(1_000_000, 0), call(5, 5, model="home"), call(model="", provider="tavily"))
    assert "at least $1.00" in shown(tab)
    prices = prices_of(tab)
    assert prices["gpt-4o-mini"] == Price(1, 2) and prices["home"] == Price() and prices["tavily"] is None
    tab.button(key="prices-back").click().run()
    assert "Saved" in said(tab) and prices_of(tab) == PRICES and program().config.providers.prices == ()
    assert json.loads((data / "settings.json").read_text())["prices"] == []


def test_stored_prices_that_cannot_be_read_are_told_and_replaced(tab, data):
    (data / "settings.json").write_text(json.dumps({"prices": ["gpt-4o=oops"]}))
    words = shown(tab).replace("\\", "")
    assert "'gpt-4o=oops' can't be read" in words and prices_of(tab) == PRICES
    tab.button(key="prices-save").click().run()
    assert not tab.error and program().config.providers.prices == ()


def test_who_shares_the_program_sees_prices_and_why_they_are_fixed(shared, tab):
    words = shown(tab)
    assert "Your administrator sets them" in words and "CRAG\\_PRICES" in words
    assert prices_of(tab) == PRICES and not tab.button


def test_prices_of_the_environment_are_shown_and_fixed(tab, monkeypatch):
    monkeypatch.setenv("CRAG_PRICES", "gpt-4o=1/2")
    words = shown(tab)
    assert "change them there" in words and prices_of(tab)["gpt-4o"] == Price(1, 2) and not tab.button


# What was typed


def row(name=None, given=None, written=None, call=None):
    return {"Model": name, "In": given, "Out": written, "Per call": call}


def test_a_name_like_a_formula_is_shown_inert_and_kept_as_it_is(tab):
    """Models are called @cf/…; the table's own menu downloads what it shows."""
    program().configure(prices=("@cf/meta=1/2",))
    spend(0, call(5, 5, model="=1+1"))
    shown(tab)
    shown_names = [name for frame in tab.dataframe for name in frame.value["Model"]]
    assert "'@cf/meta" in shown_names and "@cf/meta" not in shown_names
    assert tab.dataframe[0].value["Model"].tolist() == ["'=1+1"]
    tab.button(key="prices-save").click().run()
    assert not tab.error and program().config.providers.prices == ("@cf/meta=1/2",)
    assert costs.edited([row("'@x", 1), row("@y", 1)]) == {"@x": Price(1), "@y": Price(1)}


def test_typed_rows_become_prices():
    rows = [
        row(" a ", 1, 2),
        row("b", 0.5),
        row("c", None, float("nan"), 0.01),
        row("d", 0),
        row("e"),
        row(),
        row("", None),
    ]
    known = {"a": Price(1, 2), "b": Price(0.5), "c": Price(call=0.01), "d": Price()}
    assert costs.edited(rows) == {**known, "e": None}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([row("a", 1), row(None, 1, 2)], "Row 2 of the prices names no model"),
        ([row("a", 1), row("  ", None, None, 1)], "Row 2 of the prices names no model"),
        ([row("a", 1), row("a ", 2)], "a has two prices"),
        ([row("a", -1)], "a: -1 is no price"),
        ([row("a", 1, float("inf"))], "a: inf is no price"),
        ([row("a", 1, 1, 1e9)], "a: 1e\\+09 is no price"),
    ],
)
def test_bad_rows_are_named(rows, problem):
    with pytest.raises(SettingsError, match=problem):
        costs.edited(rows)
