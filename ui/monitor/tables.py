"""What the Monitor page draws as HTML: its sentences, every chart as a table of buttons, comparisons, the tested weeks.

Whatever stands for runs is a button that lists them, for those who use no mouse too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crag.analysis.intervals import Estimate
from crag.analysis.monitoring.drift import Drift
from crag.analysis.monitoring.figures import ACTIONS, Change, Group, Latency, Spending
from crag.core.runfacts import HERE
from crag.core.types import Action
from crag.messages.monitoring import Said, change_sentence, drift_sentence, drift_word
from crag.providers.registry import title
from crag.text.formats import money
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.monitor.plots import bucket_text

PICK = "mon:"
"""Begins what a button of this page says when it is clicked; a mark follows."""

Cell = tuple[str, str]
"""Text, and the mark whose runs it opens; "" for none."""


def sentences(said: Sequence[Said]) -> Html:
    """The sentences that matter, each of which opens its runs; those that warn stand out by sign, weight and frame."""
    warns = [_sentence(each) for each in said if each.warns]
    rest = [_sentence(each) for each in said if not each.warns]
    return h.div("cx mon-says", role="status")[warns and h.ul("mon-warns")[warns], rest and h.ul[rest]]


def _sentence(each: Said) -> Html:
    sign = h.b("mon-sign", aria_hidden="true")["▲"] if each.warns else ""
    return h.li[sign, " ", each.text, " ", opener(each.mark)]


def opener(mark: str) -> Html | str:
    """A button that lists the runs of a mark."""
    return h.button("more", data_pick=PICK + mark)["its runs"] if mark else ""


def button(cell: Cell) -> Html:
    text, mark = cell
    return h.button(data_pick=PICK + mark)[text] if mark and text not in ("0", "–") else h.fragment(text)


def folded(name: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]]) -> Html:
    """A chart as a table, closed at first."""
    body = [h.tr[h.th(scope="row")[label], [h.td("r")[button(cell)] for cell in cells]] for label, cells in rows]
    top = [h.th("r" if place else None, scope="col")[head] for place, head in enumerate(heads)]
    return h.div("cx")[
        h.details("fold mon-table", data_keep=f"mon-{name}")[
            h.summary["As a table"],
            h.div("eval-scroll", tabindex="0", role="region", aria_label=f"{name}, as a table")[
                h.table("grid")[h.thead[h.tr[top]], h.tbody[body]]
            ],
        ]
    ]


def of_actions(counts: Mapping[str, Mapping[str, int]]) -> Html:
    there = [action for action in ACTIONS if any(each[action] for each in counts.values())]
    rows = [
        (
            bucket_text(bucket),
            [
                (f"{sum(each.values()):,}", f"runs|{bucket}"),
                *((f"{each[action]:,}", f"action|{bucket}|{action}") for action in there),
            ],
        )
        for bucket, each in counts.items()
    ]
    return folded("Runs", ["", "Runs", *("no action" if each == "none" else each for each in there)], rows)


def of_estimates(name: str, kind: str, values: Mapping[str, Estimate], shown: Callable[[float], str]) -> Html:
    rows = [
        (
            bucket_text(bucket),
            [
                ("–", "") if each.value is None else (shown(each.value), f"{kind}|{bucket}"),
                (_range(each, shown), ""),
                (f"{each.of:,}", f"runs|{bucket}"),
            ],
        )
        for bucket, each in values.items()
    ]
    return folded(name, ["", name, "95 % interval", "Runs"], rows)


def _range(each: Estimate, shown: Callable[[float], str]) -> str:
    return "–" if each.low is None or each.high is None else f"{shown(each.low)} to {shown(each.high)}"


def of_scores(now: Sequence[int], before: Sequence[int]) -> Html:
    rows = [
        (
            f"{place / len(now):.2f} to {(place + 1) / len(now):.2f}",
            [(f"{now[place]:,}", f"score|{place}|now"), (f"{before[place]:,}", f"score|{place}|before")],
        )
        for place in range(len(now))
    ]
    return folded("Best scores", ["", "This span", "Four weeks before"], rows)


def of_latency(found: Sequence[Latency]) -> Html:
    rows = [
        (
            "whole run" if each.step == "run" else each.step,
            [
                (_took(each.median.value), f"step|{each.step}|median"),
                (_took(each.median_before), ""),
                (_took(each.p95.value), f"step|{each.step}|p95"),
            ],
        )
        for each in found
    ]
    return folded("Latency", ["", "Median", "Before", "95 of 100 at most"], rows)


def _took(seconds: float | None) -> str:
    return "–" if seconds is None else words.format_duration(seconds)


def of_spending(values: Mapping[str, Spending]) -> Html:
    rows = [
        (
            bucket_text(bucket),
            [
                (f"{each.calls:,}", f"calls|{bucket}"),
                (f"{each.failed:,}", ""),
                (f"{'at least ' if each.unpriced else ''}{money(each.dollars)}", ""),
            ],
        )
        for bucket, each in values.items()
    ]
    return folded("Calls", ["", "Calls", "Failed", "Cost"], rows)


def failure_map(found: Mapping[str, Mapping[str, int]]) -> Html:
    """Who failed, down, and why, across: runs with it, each a button; the darker the more."""
    if not found:
        return h.div("cx")[h.p("quiet")["Nothing failed in this span."]]
    reasons = sorted({reason for each in found.values() for reason in each})
    most = max(number for each in found.values() for number in each.values())
    body = [
        h.tr[
            h.th(scope="row")[HERE if who == HERE else title(who)],
            [_failed(who, reason, each.get(reason, 0), most) for reason in reasons],
        ]
        for who, each in found.items()
    ]
    return h.div("cx eval-scroll")[
        h.table("eval-matrix mon-failures")[
            h.thead[h.tr[h.th(scope="col")["Runs in which"], [h.th("r", scope="col")[each] for each in reasons]]],
            h.tbody[body],
        ]
    ]


def _failed(who: str, reason: str, number: int, most: int) -> Html:
    cell = button((f"{number:,}", f"failed|{who}|{reason}")) if number else "·"
    return h.td("r", style=f"--share:{number / most:.2f}")[cell]


def weeks(found: Sequence[Sequence[Drift]]) -> Html:
    """The test of each week: a sign and a word for scores, actions and web, its sentence when pointed at."""
    rows = []
    for drifts in found:
        monday = drifts[0].since.date().isoformat()
        runs = max(each.runs for each in drifts)
        cells = [
            h.td(each.verdict, title=drift_sentence(each))[h.b[_SIGNS[each.verdict]], " ", drift_word(each)]
            for each in drifts
        ]
        rows.append(
            h.tr[
                h.th(scope="row")[bucket_text(monday)],
                h.td("r")[button((f"{runs:,}", f"weekly|{monday}" if runs else ""))],
                cells,
            ]
        )
    heads = [h.th("r" if each == "Runs" else None, scope="col")[each] for each in _WEEK_HEADS]
    return h.div("cx eval-scroll", tabindex="0", role="region", aria_label="Drift by week")[
        h.table("grid mon-weeks")[h.thead[h.tr[heads]], h.tbody[rows]]
    ]


_WEEK_HEADS = ("Week of", "Runs", "Scores", "Actions", "Web")
_SIGNS = {"few": "·", "none": "✓", "slight": "≈", "drift": "▲"}


def changes(found: Mapping[str, Sequence[tuple[int, Change]]]) -> Html:
    """What changed, by the numbers in the chart."""
    items = [
        h.li[h.b[f"{number}"], f" {bucket_text(bucket)}: {change_sentence(each.kind, each.what)}"]
        for bucket, group in found.items()
        for number, each in group
    ]
    return h.div("cx")[h.ul("mon-changes")[items]] if items else Html()


def groups(found: Sequence[Group], by: str, head: str, named: Callable[[str], str]) -> Html:
    """All figures of each group with their intervals; the count of its runs opens them."""
    heads = (head, "Runs", *ACTIONS[:3], *("Web rate", "Rewrites", "Best score", "Median", "95 of 100", "Failed"))
    top = [h.th(scope="col")[_head(each)] for each in (*heads, "Supported", "Cost a run")]
    rows = [
        h.tr[
            h.th(scope="row")[named(each.name)],
            h.td("r")[button((f"{each.runs:,}", f"group|{by}|{each.name}"))],
            [_estimate(each.actions[action], _percent) for action in ACTIONS[:3]],
            _estimate(each.web, _percent),
            _estimate(each.rewrites, _number),
            _estimate(each.best, _number),
            _estimate(each.median, words.format_duration),
            _estimate(each.p95, words.format_duration),
            _estimate(each.failed, _percent),
            _estimate(each.faithfulness, _percent),
            h.td("r")[money(each.dollars / each.runs)],
        ]
        for each in found
    ]
    return h.div("cx eval-scroll", tabindex="0", role="region", aria_label=f"Compared by {head.lower()}")[
        h.table("grid mon-groups")[h.thead[h.tr[top]], h.tbody[rows]]
    ]


def _head(name: str) -> Html:
    if name in ACTIONS:
        return h.span(f"verdict {name.lower()}")[f"{words.ICONS[Action(name)]} {name}"]
    return h.fragment(name)


def _estimate(each: Estimate, shown: Callable[[float], str]) -> Html:
    if each.value is None:
        return h.td("r")["–"]
    interval = h.span("ci")[_range(each, shown)] if each.low is not None else ""
    return h.td("r", title=f"of {words.count(each.of, 'run')}")[h.b[shown(each.value)], interval]


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _number(value: float) -> str:
    return f"{value:.2f}"
