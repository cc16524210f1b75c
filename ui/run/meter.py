"""A run's meter, drawn from a trace: where the time went, what outside calls took, and plain RAG beside it."""

from __future__ import annotations

from collections.abc import Mapping

from crag.core.errors import SettingsError
from crag.core.makers import named
from crag.core.trace import Trace
from crag.core.types import Step
from crag.core.wording import about
from crag.spending.costs import PlainRag, Spent, by_step, plain_rag, spent
from crag.spending.prices import PRICES, Price, money, table
from ui.app.program import program
from ui.kit import words
from ui.kit.safe import text

__all__ = ["in_use", "meter"]


def in_use() -> Mapping[str, Price]:
    """The prices of this program; the list prices where the user's can't be read, which the Costs tab then says."""
    try:
        return table(program().config.prices)
    except SettingsError:
        return PRICES


def meter(trace: Trace, prices: Mapping[str, Price] = PRICES, *, plain: bool = True) -> str:
    """Seconds by step as a bar, the run's figures, its calls by step. `plain`: and what plain RAG would have taken."""
    beside = plain_rag(trace, prices) if plain else None
    return (
        f'<div class="cx">{_bar(trace)}{_figures(trace, spent(trace.calls, prices))}'
        f"{_plain(beside) if beside else ''}{_calls(trace, prices) if trace.calls else ''}</div>"
    )


def _seconds(trace: Trace) -> dict[Step, float]:
    """By the clock, for each step that ran."""
    took: dict[Step, float] = {}
    for record in trace.steps:
        took[record.step] = took.get(record.step, 0.0) + (record.seconds or 0.0)
    return took


def _bar(trace: Trace) -> str:
    took = _seconds(trace)
    whole = sum(took.values()) or 1.0
    parts = "".join(
        f'<i style="flex:{max(seconds / whole, 0.004):.4f}" title="{words.STEPS[step]}: {words.duration(seconds)}"></i>'
        for step, seconds in took.items()
    )
    return f'<div class="meter" aria-hidden="true">{parts}</div>'


def _figures(trace: Trace, whole: Spent) -> str:
    grades = [grade for round in trace.rounds for grade in round.made]
    cached = sum(1 for grade in grades if grade.cached)
    shown = [_figure(words.duration(trace.seconds), "in all")]
    if whole.calls:
        shown.append(_counted(whole.calls - whole.searches, "model call", "s"))
    shown += [
        _counted(len(trace.searches), "web search", "es"),
        _counted(len(grades), "grade", "s", f", {cached} remembered" if cached else ""),
    ]
    shown += [_counted(whole.failed, "failed call", "s")] if whole.failed else []
    if not whole.calls:
        shown.append("<span>local models: no cost</span>")
    else:
        shown += [_figure(_tokens(whole), "tokens")] if whole.input_tokens or whole.output_tokens else []
        shown.append(_figure(whole.cost, ""))
    longest = sorted(_seconds(trace).items(), key=lambda item: -item[1])[:3]
    shares = ", ".join(f"{words.STEPS[step].lower()} {words.duration(seconds)}" for step, seconds in longest)
    shown.append(f"<span>most of the time: {shares or '–'}</span>")
    return f'<div class="figures">{"".join(shown)}</div>'


def _figure(value: str, label: str) -> str:
    return f"<span><b>{value}</b> {label}</span>"


def _counted(number: int, noun: str, plural: str, more: str = "") -> str:
    return _figure(f"{number:,}", noun + ("" if number == 1 else plural) + more)


def _tokens(sums: Spent) -> str:
    """In → out, as far as the provider counted; a dash where it counted none."""
    if not sums.input_tokens and not sums.output_tokens:
        return "–"
    return f'<span class="keep">{sums.input_tokens:,} → {sums.output_tokens:,}</span>'


def _plain(plain: PlainRag) -> str:
    took = [] if plain.seconds is None else [f"≈{words.duration(plain.seconds)}"]
    if plain.calls:
        price = "no price known" if plain.dollars is None else money(plain.dollars, "≈")
        said = ["1 call", f"≈{plain.input_tokens + plain.output_tokens:,} tokens", *took, price]
    else:
        said = ["no calls", *took]
    why = "Estimated: one retrieval and one answer from its chunks, by this run's own times, tokens and prices."
    return f'<p class="plain" title="{text(why)}">Plain RAG would have taken {", ".join(said)} (estimated).</p>'


def _calls(trace: Trace, prices: Mapping[str, Price]) -> str:
    """The table by step, folded."""
    steps = by_step(trace, prices)
    rows = "".join(_row(words.STEPS[step], sums, _errors(trace, step)) for step, sums in steps.items())
    foot = f"<tfoot>{_row('In all', spent(trace.calls, prices), '')}</tfoot>" if len(steps) > 1 else ""
    models = ", ".join(dict.fromkeys(text(call.model or call.provider) for call in trace.calls))
    return (
        '<details class="calls"><summary>Calls by step</summary><table class="grid">'
        '<thead><tr><th>Step</th><th class="r">Calls</th><th class="r">Tokens in → out</th>'
        f'<th class="r">Seconds</th><th class="r">Cost</th></tr></thead><tbody>{rows}</tbody>{foot}</table>'
        f'<p class="legend">{models}. Tokens as the provider counted them, at the prices in Settings, Costs; failed '
        "calls count as free. Seconds are those of all calls, and several run side by side.</p></details>"
    )


def _row(name: str, sums: Spent, errors: str) -> str:
    failed = f'<span class="tag" title="{errors}">{sums.failed} failed</span> ' if sums.failed else ""
    return (
        f'<tr><td>{name}</td><td class="r">{failed}{sums.calls:,}</td><td class="r">{_tokens(sums)}</td>'
        f'<td class="r">{sums.seconds:.1f}</td><td class="r cost">{sums.cost}</td></tr>'
    )


def _errors(trace: Trace, step: Step) -> str:
    """What was wrong with the failed calls of a step, each reason once."""
    said = [about(call.error, call.who, named) for call in trace.calls if call.step == step and call.error]
    return text(" ".join(dict.fromkeys(said)))
