"""A run's meter, drawn from a trace: its time, and what outside calls took."""

from __future__ import annotations

from crag.core.model_ids import about, name_in_sentence
from crag.core.trace import Trace
from crag.core.types import Step
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.messages.providers import cost_text
from crag.providers.prices import PRICES, Prices, Spent, by_step, sum_calls


def meter(trace: Trace, prices: Prices = PRICES) -> Html:
    """The run's figures and its calls by step; the path has each step's time."""
    return h.div("cx")[
        _figures(trace, sum_calls(trace.calls, prices)),
        trace.calls and _calls(trace, prices),
    ]


def _figures(trace: Trace, whole: Spent) -> Html:
    grades = [grade for round in trace.rounds for grade in round.made]
    cached = sum(1 for grade in grades if grade.cached)
    shown = [_figure(words.format_duration(trace.seconds), "in all")]
    if whole.calls:
        shown.append(_counted(whole.calls - whole.searches, "model call", "s"))
    shown += [
        _counted(len(trace.searches), "web search", "es"),
        _counted(len(grades), "grade", "s", f", {cached} remembered" if cached else ""),
    ]
    shown += [_counted(whole.failed, "failed call", "s")] if whole.failed else []
    if not whole.calls:
        shown.append(h.span["local models: no cost"])
    else:
        shown += [_figure(_tokens(whole), "tokens")] if whole.input_tokens or whole.output_tokens else []
        shown.append(_figure(cost_text(whole), ""))
    return h.div("figures")[shown]


def _figure(value: object, label: str) -> Html:
    return h.span[h.b[value], " ", label]


def _counted(number: int, noun: str, plural: str, more: str = "") -> Html:
    return _figure(f"{number:,}", noun + ("" if number == 1 else plural) + more)


def _tokens(sums: Spent) -> Html:
    """In → out, as far as the provider counted; a dash where it counted none."""
    if not sums.input_tokens and not sums.output_tokens:
        return Html("–")
    return h.span("keep")[f"{sums.input_tokens:,} → {sums.output_tokens:,}"]


def _calls(trace: Trace, prices: Prices) -> Html:
    """The table by step, folded."""
    steps = by_step(trace, prices)
    rows = [_row(words.STEPS[step], sums, _errors(trace, step)) for step, sums in steps.items()]
    foot = h.tfoot[_row("In all", sum_calls(trace.calls, prices), "")] if len(steps) > 1 else ""
    models = ", ".join(dict.fromkeys(call.model or call.provider for call in trace.calls))
    return h.details("fold")[
        h.summary["Calls by step"],
        h.table[
            h.thead[h.tr[h.th["Step"], (h.th[name] for name in ("Calls", "Tokens in → out", "Seconds", "Cost"))]],
            h.tbody[rows],
            foot,
        ],
        h.p("small")[
            f"{models}. Tokens as the provider counted them, at the prices in Settings, Costs; failed calls count as "
            "free. Seconds are those of all calls, and several run side by side."
        ],
    ]


def _row(name: str, sums: Spent, errors: str) -> Html:
    failed = sums.failed and (h.span("tag", title=errors)[f"{sums.failed} failed"], " ")
    return h.tr[
        h.td[name],
        h.td[failed or "", f"{sums.calls:,}"],
        h.td[_tokens(sums)],
        h.td[f"{sums.seconds:.1f}"],
        h.td[cost_text(sums)],
    ]


def _errors(trace: Trace, step: Step) -> str:
    """What was wrong with the failed calls of a step, each reason once."""
    said = [about(call.error, call.who, name_in_sentence) for call in trace.calls if call.step == step and call.error]
    return " ".join(dict.fromkeys(said))
