"""Prices: entries read and written without loss, bad ones named, and no price guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.errors import SettingsError
from crag.providers.prices import PRICES, Price, format_prices, price_of, table
from crag.text.formats import money


def test_entries_replace_add_and_take_away() -> None:
    prices = table(["gpt-4o=1/2", "llama3.1:8b = 0 / 0", "other-web=0/0/0.01", "tavily=none"])
    assert prices["gpt-4o"] == Price(1, 2)
    assert prices["llama3.1:8b"] == Price()
    assert prices["other-web"] == Price(call=0.01)
    assert prices["tavily"] is None and price_of("", "tavily", prices) is None
    assert prices["brave"] == PRICES["brave"] == Price(call=0.005)


@pytest.mark.parametrize(
    "entry",
    [
        *("gpt-4o", "=1/2", " =1/2", "", "a=", "a=1", "a=1/2/3/4", "a=x/y", "a=1/", "a=free"),
        *("a=-1/2", "a=1/-0.5", "a=nan/1", "a=1/inf", "a=1/2/-inf", "a=1/1e9"),
    ],
)
def test_an_entry_that_is_no_price_is_refused_by_name(entry: str) -> None:
    with pytest.raises(SettingsError) as refused:
        table(["gpt-4o=1/2", entry])
    assert repr(entry) in refused.value.message
    assert "in/out" in refused.value.remedy


NUMBERS = st.floats(0, 1_000_000)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters=","), min_size=1).filter(
    lambda name: name == name.strip()
)


@given(
    st.dictionaries(
        NAMES | st.sampled_from(sorted(PRICES)), st.none() | st.builds(Price, NUMBERS, NUMBERS, NUMBERS), max_size=5
    ),
    st.sets(st.sampled_from(sorted(PRICES))),
)
def test_what_is_written_reads_as_it_was(own: dict[str, Price | None], gone: set[str]) -> None:
    prices = {name: price for name, price in {**PRICES, **own}.items() if name not in gone}
    assert table(format_prices(prices)) == {**dict.fromkeys(PRICES), **prices}


@pytest.mark.parametrize("name", ["", " ", "a,b", " padded"])
def test_a_name_that_could_not_be_read_again_is_not_written(name: str) -> None:
    with pytest.raises(SettingsError, match="no name of a model"):
        format_prices({name: Price(1, 1)})


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", Price(2.5, 10)),
        ("gpt-4o-2024-08-06", Price(2.5, 10)),
        ("gpt-4o-mini-2024-07-18", Price(0.15, 0.6)),
        ("gpt-6-sol", Price(2, 10)),
        ("text-embedding-3-large", Price(0.13)),
    ],
)
def test_a_model_that_has_no_price_of_its_own_has_the_list_s(model: str, price: Price) -> None:
    assert price_of(model, "openai", PRICES) == price
    assert price_of(model, "openai", {model: Price(1, 2)}) == Price(1, 2)
    assert price_of(model, "openai", {model: None}) is None


@pytest.mark.parametrize("model", ["llama3.1:8b", "gpt-4o-custom", "gpt-4o-2024-08-06-x", "", "x" * 100_000])
def test_another_model_s_price_is_not_guessed_from_its_name(model: str) -> None:
    assert price_of(model, "openai-compatible", PRICES) is None


@pytest.mark.parametrize(
    ("dollars", "said"),
    [
        *((0, "$0"), (0.00009, "under $0.0001"), (0.0001, "$0.0001"), (0.00042, "$0.0004"), (0.0123, "$0.012")),
        *((0.1234, "$0.12"), (1, "$1.00"), (1234.5, "$1,234.50")),
    ],
)
def test_amounts_are_written_as_a_person_reads_them(dollars: float, said: str) -> None:
    assert money(dollars) == said
