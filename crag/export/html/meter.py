"""A run's meter, drawn from a trace: its time, and what outside calls took."""

from __future__ import annotations

from crag.core.model_ids import about
from crag.core.trace import Trace
from crag.core.types import Step
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.messages.providers import cost_text, figures_of, tokens_text
from crag.providers.prices import PRICES, Prices, Spent, by_step, sum_calls


def meter(trace: Trace, prices: Prices = PRICES) -> Html:
    """The run's figures and its calls by step; the path has each step's time."""
    figures = [h.span[number and h.b[number], number and " ", what] for number, what in figures_of(trace, prices)]
    return h.div("cx")[h.div("figures")[figures], trace.calls and _calls(trace, prices)]


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
    tokens = tokens_text(sums)
    failed = sums.failed and (h.span("tag", title=errors)[f"{sums.failed} failed"], " ")
    return h.tr[
        h.td[name],
        h.td[failed or "", f"{sums.calls:,}"],
        h.td[h.span("keep")[tokens] if tokens else "–"],
        h.td[f"{sums.seconds:.1f}"],
        h.td[cost_text(sums)],
    ]


def _errors(trace: Trace, step: Step) -> str:
    """What was wrong with the failed calls of a step, each reason once."""
    said = [about(call.error, call.who) for call in trace.calls if call.step == step and call.error]
    return " ".join(dict.fromkeys(said))
