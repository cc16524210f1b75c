"""What calls cost: one table of prices, which the user can edit, and sums over calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crag.core.meter import Call

__all__ = ["PRICES", "Price", "cost", "price_of"]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens in and out, and for one call whatever its size (web searches)."""

    input: float = 0.0
    output: float = 0.0
    call: float = 0.0


PRICES: Mapping[str, Price] = {
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4o-mini": Price(0.15, 0.60),
    "gpt-4.1": Price(2.00, 8.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "tavily": Price(call=0.008),
    "duckduckgo": Price(),
}
"""By model, or by provider where calls have no model. List prices that change: Settings lets people correct them."""


def price_of(call: Call, prices: Mapping[str, Price] = PRICES) -> Price | None:
    """The price that applies: the model's own, or that of the longest name it begins with ("gpt-4o-2024-08-06").

    None where none is known. Models that a person runs at home cost nothing by the table: they are not in it, and
    unknown is not free.
    """
    name = call.model or call.provider
    if name in prices:
        return prices[name]
    begun = [known for known in prices if name.startswith(f"{known}-")]
    return prices[max(begun, key=len)] if begun else None


def cost(calls: Iterable[Call], prices: Mapping[str, Price] = PRICES) -> tuple[float, int]:
    """Dollars for all calls with a known price, and how many calls have none or were not counted by their provider."""
    total, unknown = 0.0, 0
    for call in calls:
        price = price_of(call, prices)
        if price is None or (call.model and call.input_tokens is None and call.error is None):
            unknown += 1
            continue
        tokens = (call.input_tokens or 0) * price.input + (call.output_tokens or 0) * price.output
        total += tokens / 1_000_000 + (price.call if call.error is None else 0.0)
    return total, unknown
