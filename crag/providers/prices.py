"""What calls cost: by the prices that a person sets, else by the list prices in the package `genai-prices`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import get_args

from crag.core.errors import SettingsError
from crag.core.runfacts import DaySpending, sum_by_model
from crag.core.trace import Trace
from crag.core.types import Call, Step
from crag.providers.registry import GGUF, PROVIDERS, evaluators, webs
from crag.runtime.provider import Price as Price
from crag.text.memory import remember

FORM = "Write model=in/out in US dollars for a million tokens, or provider=in/out/call; model=none takes a price away."

Prices = Mapping[str, Price | None]
"""By model, or by provider where calls have no model; None: not known, whatever a list says."""

PRICES: Prices = {each.name: each.price for each in PROVIDERS if each.price is not None}
"""What the providers here take for each call."""

_SAMPLE = 1_000
"""Tokens of the call whose list price is asked for: long prompts cost more, and a day's sum doesn't tell them apart."""


def price_of(model: str, provider: str, prices: Prices) -> Price | None:
    """The price of a model, or of a provider whose calls name none: the one set, else that of OpenAI's list.

    None where none is known, which is not the same as free.
    """
    # What this machine runs by itself costs the same, nothing, whatever the file is called.
    name = provider if provider == GGUF.name else model or provider
    return prices[name] if name in prices else _list_price(name)


@remember(1_024)
def _list_price(model: str) -> Price | None:
    from genai_prices import Usage, calc_price  # only now: it takes a quarter of a second

    try:
        found = calc_price(Usage(input_tokens=_SAMPLE, output_tokens=_SAMPLE), model, provider_id="openai")
    except LookupError:
        return None
    many = 1_000_000 // _SAMPLE
    return Price(float(found.input_price * many), float(found.output_price * many))


def table(entries: Iterable[str] = ()) -> dict[str, Price | None]:
    """The providers' prices with the user's over them. Raises SettingsError naming the first bad entry."""
    return {**_own_prices(), **dict(map(parse_price, entries))}


def usable(entries: Iterable[str]) -> dict[str, Price | None]:
    """The same; the providers' prices alone where an entry can't be read, which Settings says under Costs."""
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


def format_prices(prices: Prices) -> tuple[str, ...]:
    """The entries that make the providers' prices into `prices`: none where they are the same.

    Raises SettingsError for a name that can't be written: an empty one, or one with a comma, which parts entries.
    """
    for name in prices:
        if not name.strip() or name != name.strip() or "," in name:
            raise SettingsError(f"{name!r} is no name of a model.", "Write it as its server does, without commas.")
    known = _own_prices()
    whole = {**dict.fromkeys(known), **prices}
    return tuple(f"{name}={_form(price)}" for name, price in whole.items() if name not in known or known[name] != price)


def _own_prices() -> dict[str, Price | None]:
    """What the providers here, and those of other packages, say of themselves."""
    plugged = (*webs().values(), *evaluators().values())
    return {**PRICES, **{each.name: each.price for each in plugged if each.price is not None}}


def _form(price: Price | None) -> str:
    if price is None:
        return "none"
    numbers = (price.input, price.output, price.call) if price.call else (price.input, price.output)
    return "/".join(repr(number).removesuffix(".0") for number in numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Sums over calls. Tokens as far as providers counted them; `seconds` of all calls, also of those side by side.

    `dollars` leaves out `unpriced` calls (no price is known) and `uncounted` ones (priced by tokens, which the
    provider did not count). Failed calls are taken to be free.
    """

    calls: int = 0
    failed: int = 0
    searches: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0
    uncounted: int = 0

    @property
    def unknown(self) -> int:
        """Calls that cost something nobody knows."""
        return self.unpriced + self.uncounted


def sum_calls(calls: Iterable[Call], prices: Prices) -> Spent:
    """The sums over calls."""
    return sum_spent(of_day(each, prices) for each in sum_by_model(calls))


def by_step(trace: Trace, prices: Prices) -> dict[Step, Spent]:
    """The sums of each step that made calls, in the order of steps."""
    steps: tuple[Step, ...] = get_args(Step)
    made = {step: [call for call in trace.calls if call.step == step] for step in steps}
    return {step: sum_calls(calls, prices) for step, calls in made.items() if calls}


def of_day(sums: DaySpending, prices: Prices) -> Spent:
    """What one model's calls of a day cost: the library keeps tokens, and prices are those of now."""
    made = sums.calls - sums.failed
    price = price_of(sums.model, sums.provider, prices)
    uncounted = sums.uncounted if price is not None and price.by_token else 0
    return Spent(
        calls=sums.calls,
        failed=sums.failed,
        searches=0 if sums.model else sums.calls,
        input_tokens=sums.input_tokens,
        output_tokens=sums.output_tokens,
        seconds=sums.seconds,
        dollars=_dollars(price, made - uncounted, sums.input_tokens, sums.output_tokens),
        unpriced=made if price is None else 0,
        uncounted=uncounted,
    )


def sum_spent(parts: Iterable[Spent]) -> Spent:
    """All of them together."""
    every = list(parts)
    return Spent(**{each.name: sum(getattr(part, each.name) for part in every) for each in fields(Spent)})


def _dollars(price: Price | None, calls: int, given: int, written: int) -> float:
    if price is None:
        return 0.0
    return (given * price.input + written * price.output) / 1_000_000 + calls * price.call
