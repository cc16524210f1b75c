"""What calls cost: one table of prices, which the user can edit, and its text forms in the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import get_args

from crag.core.errors import SettingsError
from crag.core.model_ids import Maker
from crag.core.runfacts import DaySpending, sum_by_model
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Call, Chunk, Step, WebPage
from crag.providers.registry import GGUF, PROVIDERS, evaluators, webs
from crag.runtime.provider import Price as Price

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
    "text-embedding-3-large": Price(0.13),
    "text-embedding-3-small": Price(0.02),
    "text-embedding-ada-002": Price(0.10),
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


CHARS_A_TOKEN = 4.0
"""Of English, where no provider counted: an estimate."""
FRAME = 780
"""Characters of an answer's prompt beside question and sources."""
TAGS = 48
"""Characters around each page that is shown, beside its title."""
FITTED = 3.2
"""Characters a token, as the answer's context limit is counted."""


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


def sum_calls(calls: Iterable[Call], prices: Mapping[str, Price]) -> Spent:
    """The sums over calls."""
    return sum_spent(of_day(each, prices) for each in sum_by_model(calls))


def by_step(trace: Trace, prices: Mapping[str, Price]) -> dict[Step, Spent]:
    """The sums of each step that made calls, in the order of steps."""
    steps: tuple[Step, ...] = get_args(Step)
    made = {step: [call for call in trace.calls if call.step == step] for step in steps}
    return {step: sum_calls(calls, prices) for step, calls in made.items() if calls}


def of_day(sums: DaySpending, prices: Mapping[str, Price]) -> Spent:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRag:
    """What plain RAG would have taken for the same question: an estimate, all of it.

    `calls` is 0 where no language model writes. `seconds` None where the run does not tell how long an answer takes,
    `dollars` None where no price is known.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float | None = None
    dollars: float | None = None


def plain_rag(trace: Trace, prices: Mapping[str, Price]) -> PlainRag | None:
    """One retrieval and one answer from its chunks, as many as the answer's context holds; nothing graded or checked.

    Tokens: the lengths of the texts by this run's own tokens a character, where the provider counted its answer;
    else four characters a token. Seconds: those of this run's first retrieval and of its answer. None where the run
    is plain RAG itself, or retrieved nothing.
    """
    settings = trace.run_settings
    if settings.evaluator == "none" or not trace.rounds or not trace.rounds[0].chunks:
        return None
    retrieved = next((record.seconds or 0.0 for record in trace.steps if record.step == "retrieve"), 0.0)
    writer = _writer(trace)
    if writer is None:
        return PlainRag(seconds=retrieved + sum(each.seconds or 0.0 for each in trace.steps if each.step == "answer"))
    answers = [call for call in trace.calls if call.step == "answer" and call.error is None]
    chunks = [found.chunk for found in trace.rounds[0].chunks]
    given = round(_prompt([(chunk.text, chunk) for chunk in chunks], trace, settings) * _tokens_a_character(trace))
    written = (answers[-1].output_tokens if answers else None) or round(len(_answer_text(trace)) / CHARS_A_TOKEN)
    price = price_of(*writer, prices)
    return PlainRag(
        calls=1,
        input_tokens=given,
        output_tokens=written,
        seconds=retrieved + answers[-1].seconds if answers else None,
        dollars=None if price is None else _dollars(price, 1, given, written),
    )


def _answer_text(trace: Trace) -> str:
    return trace.answer.text if trace.answer else trace.text


def _writer(trace: Trace) -> tuple[str, str] | None:
    """Model and provider of the language model that writes answers, whether or not it came to it; None where none."""
    for call in reversed(trace.calls):
        if call.step == "answer" and call.model:
            return call.model, call.provider
    writer = Maker.of(trace.answer.by if trace.answer else "")
    return (writer.model, writer.provider) if writer.provider else None


def _tokens_a_character(trace: Trace) -> float:
    """As the provider counted this run's answer call, over the characters it was shown."""
    counted = [call.input_tokens for call in trace.calls if call.step == "answer" and call.error is None]
    if not counted or not counted[-1]:
        return 1 / CHARS_A_TOKEN
    sources = trace.sources
    strips = sorted(trace.kept(), key=lambda strip: -(strip.score if strip.score is not None else 0.0))
    shown = [(strip.text, sources.get(strip.source_id)) for strip in strips]
    return counted[-1] / _prompt(shown, trace, trace.run_settings)


def _prompt(texts: Iterable[tuple[str, Chunk | WebPage | None]], trace: Trace, settings: Settings) -> int:
    """Characters of the prompt that shows these texts with their sources, the first ones as far as they fit."""
    size, room, pages = FRAME + len(trace.meant), settings.answer_context * FITTED, set[object]()
    for place, (text, source) in enumerate(texts):
        page = (source.document_id, source.page, source.place) if isinstance(source, Chunk) else source and source.id
        shown = len(text) + (0 if page in pages else TAGS + (len(source.title) if source else 0))
        room -= shown
        if room < 0 and place:
            break
        size += shown
        pages.add(page)
    return size
