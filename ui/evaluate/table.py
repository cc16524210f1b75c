"""Results by strategy, drawn: the table of measures, a plot of means with their intervals, the confusion of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.core.types import Action
from crag.metrics.intervals import LEVEL
from crag.metrics.results import Mean, Result
from crag.spending.costs import Spent
from crag.spending.prices import money
from ui.evaluate.measures import GROUPS, PLOTTED, REST, Measure, as_text, label
from ui.kit import words
from ui.kit.safe import text

__all__ = ["MARKS", "Column", "confusions", "dots", "table"]

MARKS = ("●", "◆", "■", "▲", "○", "◇", "□", "△")
"""A shape for each strategy, so that colour never speaks alone."""

_NONE = Mean(value=None, known=0)
_HELD = {"holds": "holds it", "lacks": "lacks it", "unknown": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One evaluation in a table: `done` of `questions` have a result."""

    name: str
    parts: str
    done: int
    questions: int
    result: Result
    cost: Spent

    @property
    def state(self) -> str:
        """How much of it there is, in words."""
        all = words.count(self.questions, "question")
        said = all if self.done == self.questions else f"{self.done:,} of {all} so far"
        return f"{said}, {self.result.unfinished:,} failed" if self.result.unfinished else said


# The table


def table(columns: Sequence[Column], *, rest: bool = False) -> str:
    """Measures down, strategies across: a mean, its interval, and how many questions know it. `rest`: all others."""
    groups: Mapping[str, Sequence[Measure]] = {"Other measures": _rest(columns)} if rest else GROUPS
    heads = "".join(
        f'<th scope="col" title="{text(column.parts)}">{_sign(place)} {text(column.name)}'
        f'<span class="small">{text(column.state)}</span></th>'
        for place, column in enumerate(columns)
    )
    body = "".join(_group(name, measures, columns) for name, measures in groups.items())
    cost = "" if rest else _cost_row(columns)
    return (
        '<div class="cx eval-scroll" tabindex="0" role="region" aria-label="Measures by strategy">'
        f'<table class="grid eval-table"><thead><tr><th scope="col">Measure</th>{heads}</tr></thead>'
        f"<tbody>{body}{cost}</tbody></table></div>"
    )


def _rest(columns: Sequence[Column]) -> list[Measure]:
    steps = sorted({key for column in columns for key in column.result.means if key.startswith("seconds_")})
    return [*REST, *(Measure(key, label(key)) for key in steps)]


def _mark(place: int) -> str:
    return MARKS[place % len(MARKS)]


def _sign(place: int) -> str:
    return f'<span class="eval-mark s{place % len(MARKS)}">{_mark(place)}</span>'


def _group(name: str, measures: Sequence[Measure], columns: Sequence[Column]) -> str:
    head = f'<tr class="group"><th scope="colgroup" colspan="{len(columns) + 1}">{text(name)}</th></tr>'
    return head + "".join(
        f'<tr><th scope="row" title="{text(measure.note)}">{text(measure.name)}</th>'
        f"{''.join(_cell(measure.key, column) for column in columns)}</tr>"
        for measure in measures
    )


def _cell(key: str, column: Column) -> str:
    mean = column.result.means.get(key, _NONE)
    if mean.value is None:
        return '<td class="unknown" title="No question tells.">–</td>'
    interval = f'<span class="ci">{_range(key, mean)}</span>' if mean.low != mean.high else ""
    known = f"{mean.known:,} of {column.done:,}"
    title = f"Mean over the {known} questions that tell{_cell_text(key, mean)}."
    count = "" if mean.known == column.done else f'<span class="n">{known}</span>'
    return f'<td title="{title}"><b>{as_text(key, mean.value)}</b>{interval}{count}</td>'


def _range(key: str, mean: Mean) -> str:
    return f"{as_text(key, mean.low)}–{as_text(key, mean.high)}"


def _cell_text(key: str, mean: Mean) -> str:
    return f"; {LEVEL} % interval {_range(key, mean)}" if mean.low is not None else ""


def _cost_row(columns: Sequence[Column]) -> str:
    cells = "".join(f"<td>{_cost(column.cost, max(1, column.done))}</td>" for column in columns)
    return f'<tr><th scope="row" title="By the prices in Settings, as of now.">Cost</th>{cells}</tr>'


def _cost(whole: Spent, questions: int) -> str:
    if not whole.calls:
        return '<b>$0</b><span class="ci">no calls</span>'
    if whole.unknown and not whole.dollars:
        return f'<span class="small">{text(whole.cost)}</span>'
    lead = "at least " if whole.unknown else ""
    each = f"{lead}{money(whole.dollars / questions)}"
    return f'<b>{each}</b><span class="ci">each, {money(whole.dollars)} in all</span>'


# The plot


def dots(columns: Sequence[Column]) -> str:
    """Means of shares on one scale from 0 to 1, a lane for each strategy, with their intervals as lines."""
    known = [key for key in PLOTTED if any(column.result.means.get(key, _NONE).value is not None for column in columns)]
    if not known:
        return ""
    legend = "".join(f"<span>{_sign(place)} {text(column.name)}</span>" for place, column in enumerate(columns))
    rows = "".join(
        f'<li><span class="name">{text(label(key))}</span><span class="track">'
        f"{''.join(_lane(key, place, column) for place, column in enumerate(columns))}</span></li>"
        for key in known
    )
    scale = "".join(f'<i style="left:{at:.0%}">{at:g}</i>' for at in (0, 0.25, 0.5, 0.75, 1))
    return (
        f'<div class="cx eval-dots"><p class="figures">{legend}</p><ul>{rows}'
        f'<li class="scale" aria-hidden="true"><span class="name"></span><span class="track">{scale}</span></li></ul>'
        f'<p class="legend">Means; the lines are {LEVEL} % bootstrap intervals. What no question tells is left out.</p>'
        "</div>"
    )


def _lane(key: str, place: int, column: Column) -> str:
    mean = column.result.means.get(key, _NONE)
    if mean.value is None:
        return '<span class="lane"></span>'
    low, high = (mean.value if end is None else end for end in (mean.low, mean.high))
    title = (
        f"{column.name}: {as_text(key, mean.value)}{_cell_text(key, mean)}, over {words.count(mean.known, 'question')}"
    )
    return (
        f'<span class="lane s{place % len(MARKS)}" title="{text(title)}" role="img" aria-label="{text(title)}">'
        f'<i class="span" style="left:{low:.2%};width:{max(0.0, high - low):.2%}"></i>'
        f'<b style="left:{mean.value:.2%}">{_mark(place)}</b></span>'
    )


# The confusion


def confusions(columns: Sequence[Column], *, first: bool = False) -> str:
    """Actions against what the retrieval held, a small matrix by strategy. `first`: of the first retrieval."""
    matrices = "".join(_matrix(place, each, first) for place, each in enumerate(columns))
    return f'<div class="cx eval-matrices">{matrices}</div>'


def _matrix(place: int, column: Column, first: bool) -> str:
    counts = column.result.first_actions if first else column.result.actions
    most = max((number for row in counts.values() for number in row.values()), default=0) or 1
    acts = any(sum(counts[name].values()) for name in Action)
    shown = [name for name in counts if (acts if name != "none" else any(counts[name].values()))]
    heads = "".join(f'<th class="r" scope="col">{_HELD[held]}</th>' for held in _HELD)
    body = "".join(
        f'<tr><th scope="row">{_action(name)}</th>'
        f"{''.join(_count(name, held, counts[name][held], most) for held in _HELD)}</tr>"
        for name in shown
    )
    return (
        f'<table class="eval-matrix"><caption>{_sign(place)} {text(column.name)}</caption>'
        f'<thead><tr><th scope="col">Retrieval…</th>{heads}</tr></thead><tbody>{body}</tbody></table>'
    )


def _action(name: str) -> str:
    if name == "none":
        return '<span class="verdict none">– no action</span>'
    return f'<span class="verdict {name.lower()}">{words.ICONS[Action(name)]} {name}</span>'


_FITS = {("CORRECT", "holds"), ("INCORRECT", "lacks")}
_CLASHES = {("CORRECT", "lacks"), ("INCORRECT", "holds")}


def _count(name: str, held: str, number: int, most: int) -> str:
    """A cell, darker the more it holds; whether it fits is told by a sign too."""
    sign = "✓" if (name, held) in _FITS else "✕" if (name, held) in _CLASHES else ""
    said = {"✓": "The action fits.", "✕": "The action does not fit.", "": ""}[sign]
    shade = f"--share:{number / most:.2f}"
    mark = f'<span class="fit" aria-hidden="true">{sign}</span>' if sign and number else ""
    return f'<td class="r" style="{shade}" title="{said}">{mark}{number:,}</td>'
