"""What calls cost: one table of prices, which the user can edit, and its text forms in the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from crag.core.errors import SettingsError
from crag.providers.registry import GGUF, PROVIDERS, evaluators, webs
from crag.runtime.provider import Price

__all__ = ["PRICES", "Price", "format_prices", "money", "parse_price", "price_of", "table", "usable"]

FORM = "Write model=in/out in US dollars for a million tokens, or provider=in/out/call; model=none takes a price away."


MODELS: Mapping[str, Price] = {
    "gpt-6-sol": Price(2.00, 10.00),
    "gpt-6-luna": Price(0.10, 0.50),
    "gpt-5.6-sol": Price(4.00, 20.00),
    "gpt-5.6-terra": Price(2.00, 12.00),
    "gpt-5.6-luna": Price(0.20, 1.20),
    "gpt-5.5": Price(5.00, 30.00),
    "gpt-5.4": Price(2.50, 15.00),
    "gpt-5.4-mini": Price(0.75, 4.50),
    "gpt-5.4-nano": Price(0.20, 1.25),
    "gpt-5.2": Price(1.75, 14.00),
    "gpt-5.1": Price(1.25, 10.00),
    "gpt-5": Price(1.25, 10.00),
    "gpt-5-mini": Price(0.25, 2.00),
    "gpt-5-nano": Price(0.05, 0.40),
    "gpt-4.1": Price(2.00, 8.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4o-mini": Price(0.15, 0.60),
}
"""By model. List prices as read in November 2026; they change.

OpenAI: standard tier, without its discounts for repeated input and its surcharge on prompts over 272,000 tokens. Read
on the pages of the models themselves (developers.openai.com/api/docs/models): gpt-6-luna, gpt-5-mini, gpt-5-nano,
gpt-4.1-nano. The others as several independent price lists give them alike (for gpt-6-sol and gpt-5.6: those since
September and July 2026, after their reductions). Models on which the lists disagree are left out.
"""

PRICES: Mapping[str, Price] = {**MODELS, **{each.name: each.price for each in PROVIDERS if each.price is not None}}
"""The shipped table: by model, or by provider where calls have no model."""

_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|latest)")
"""What a provider appends to a model's name for one dated state of it, at the same price."""


def price_of(model: str, provider: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model, or of a provider whose calls name none; that of "gpt-4o" for "gpt-4o-2024-08-06" too.

    None where none is known, which is not the same as free. "gpt-5-pro" is not "gpt-5".
    """
    # What this machine runs by itself costs the same, nothing, whatever the file is called.
    name = provider if provider == GGUF.name else model or provider
    if name in prices:
        return prices[name]
    dated = _SNAPSHOT.search(name)
    return prices.get(name[: dated.start()]) if dated is not None and dated.end() == len(name) else None


def table(entries: Iterable[str] = ()) -> dict[str, Price]:
    """The shipped prices with the user's over them. Raises SettingsError naming the first bad entry."""
    prices = _list_prices()
    for entry in entries:
        name, price = parse_price(entry)
        if price is None:
            prices.pop(name, None)
        else:
            prices[name] = price
    return prices


def usable(entries: Iterable[str]) -> dict[str, Price]:
    """The same; the shipped prices alone where an entry can't be read, which Settings says under Costs."""
    try:
        return table(entries)
    except SettingsError:
        return table()


def parse_price(entry: str) -> tuple[str, Price | None]:
    """An entry's name and price; None for "name=none", which says that the price is not known.

    Raises SettingsError that repeats the entry.
    """
    name, is_there, numbers = entry.rpartition("=")
    name, parts = name.strip(), [part.strip() for part in numbers.split("/")]
    if not is_there or not name:
        raise SettingsError(f"The price {entry!r} names no model.", FORM)
    if parts == ["none"]:
        return name, None
    try:
        if not 2 <= len(parts) <= 3:
            raise ValueError
        return name, Price(*(float(part) for part in parts))
    except (ValueError, SettingsError) as error:
        raise SettingsError(f"The price {entry!r} can't be read.", FORM) from error


def format_prices(prices: Mapping[str, Price]) -> tuple[str, ...]:
    """The entries that make the shipped table into `prices`: none where they are the same.

    Raises SettingsError for a name that can't be written: an empty one, or one with a comma, which parts entries.
    """
    for name in prices:
        if not name.strip() or name != name.strip() or "," in name:
            raise SettingsError(f"{name!r} is no name of a model.", "Write it as its server does, without commas.")
    known = _list_prices()
    gone = tuple(f"{name}=none" for name in known if name not in prices)
    return gone + tuple(f"{name}={_form(price)}" for name, price in prices.items() if known.get(name) != price)


def _list_prices() -> dict[str, Price]:
    """The shipped table, and what other packages' providers say of themselves."""
    plugged = (*webs().values(), *evaluators().values())
    return {**PRICES, **{each.name: each.price for each in plugged if each.price is not None}}


def _form(price: Price) -> str:
    numbers = (price.input, price.output, price.call) if price.call else (price.input, price.output)
    return "/".join(repr(number).removesuffix(".0") for number in numbers)


def money(dollars: float, about: str = "") -> str:
    """An amount as a person reads it: $0, under $0.0001, $0.0004, $0.012, $0.12, $1,234.50. `about` stands before it
    where it is an estimate and not a bound.
    """
    if dollars <= 0:
        return f"{about}$0"
    if dollars < 0.0001:
        return "under $0.0001"
    places = 4 if dollars < 0.01 else 3 if dollars < 0.1 else 2
    return f"{about}${dollars:,.{places}f}"
