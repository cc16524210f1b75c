"""Results by strategy, drawn: the table of measures, a plot of means with their intervals, the confusion of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import STEP_SECONDS, Mean, Result
from crag.core.types import Action
from crag.messages.evaluations import NOTES, title_of
from crag.messages.providers import cost_text
from crag.providers.prices import Spent
from crag.text.formats import money
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.evaluate.measures import GROUPS, PLOTTED, REST, as_text

MARKS = ("●", "◆", "■", "▲", "○", "◇", "□", "△")
"""A shape for each strategy, so that colour never speaks alone."""

_NONE = Mean(value=None, known=0)
_HELD = {"holds": "holds it", "missing": "does not hold it", "unknown": "unknown"}


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
        counts = {"failed": self.result.unfinished, "not scored": self.result.unscored}
        return ", ".join([said, *(f"{count:,} {name}" for name, count in counts.items() if count)])


# The table


def table(columns: Sequence[Column], *, rest: bool = False) -> Html:
    """Measures down, strategies across: a mean, its interval, and how many questions know it. `rest`: all others."""
    groups: Mapping[str, Sequence[str]] = {"Other measures": _rest(columns)} if rest else GROUPS
    heads = [
        h.th(scope="col", title=column.parts)[_sign(place), f" {column.name}", h.span("small")[column.state]]
        for place, column in enumerate(columns)
    ]
    body = [_group(name, measures, columns) for name, measures in groups.items()]
    cost = "" if rest else _cost_row(columns)
    return h.div("cx eval-scroll", tabindex="0", role="region", aria_label="Measures by strategy")[
        h.table("grid eval-table")[h.thead[h.tr[h.th(scope="col")["Measure"], heads]], h.tbody[body, cost]]
    ]


def _rest(columns: Sequence[Column]) -> list[str]:
    steps = sorted({key for column in columns for key in column.result.means if key in STEP_SECONDS})
    return [*REST, *steps]


def _mark(place: int) -> str:
    return MARKS[place % len(MARKS)]


def _sign(place: int) -> Html:
    return h.span(f"eval-mark s{place % len(MARKS)}")[_mark(place)]


def _group(name: str, measures: Sequence[str], columns: Sequence[Column]) -> Html:
    head = h.tr("group")[h.th(scope="colgroup", colspan=len(columns) + 1)[name]]
    rows = [
        h.tr[h.th(scope="row", title=NOTES.get(key, ""))[title_of(key)], [_cell(key, column) for column in columns]]
        for key in measures
    ]
    return h.fragment(head, rows)


def _cell(key: str, column: Column) -> Html:
    mean = column.result.means.get(key, _NONE)
    if mean.value is None:
        return h.td("unknown", title="No question measures this.")["–"]
    interval = h.span("ci")[_range(key, mean)] if mean.low != mean.high else ""
    known = f"{mean.known:,} of {column.done:,}"
    title = f"Mean over the {known} questions that measure it{_cell_text(key, mean)}."
    count = "" if mean.known == column.done else h.span("n")[known]
    return h.td(title=title)[h.b[as_text(key, mean.value)], interval, count]


def _range(key: str, mean: Mean) -> str:
    return f"{as_text(key, mean.low)}–{as_text(key, mean.high)}"


def _cell_text(key: str, mean: Mean) -> str:
    return f"; {LEVEL} % interval {_range(key, mean)}" if mean.low is not None else ""


def _cost_row(columns: Sequence[Column]) -> Html:
    cells = [h.td[_cost(column.cost, max(1, column.done))] for column in columns]
    return h.tr[h.th(scope="row", title="By the current prices in Settings.")["Cost"], cells]


def _cost(whole: Spent, questions: int) -> Html:
    if not whole.calls:
        return h.fragment(h.b["$0"], h.span("ci")["no calls"])
    if whole.unknown and not whole.dollars:
        return h.span("small")[cost_text(whole)]
    lead = "at least " if whole.unknown else ""
    each = f"{lead}{money(whole.dollars / questions)}"
    return h.fragment(h.b[each], h.span("ci")[f"each, {money(whole.dollars)} in all"])


# The plot


def dots(columns: Sequence[Column]) -> Html:
    """Means of shares on one scale from 0 to 1, a lane for each strategy, with their intervals as lines."""
    known = [key for key in PLOTTED if any(column.result.means.get(key, _NONE).value is not None for column in columns)]
    if not known:
        return Html()
    legend = [h.span[_sign(place), f" {column.name}"] for place, column in enumerate(columns)]
    rows = [
        h.li[
            h.span("name")[title_of(key)],
            h.span("track")[[_lane(key, place, column) for place, column in enumerate(columns)]],
        ]
        for key in known
    ]
    scale = [h.i(style=f"left:{at:.0%}")[f"{at:g}"] for at in (0, 0.25, 0.5, 0.75, 1)]
    return h.div("cx eval-dots")[
        h.p("figures")[legend],
        h.ul[rows, h.li("scale", aria_hidden="true")[h.span("name"), h.span("track")[scale]]],
        h.p("legend")[f"Means; the lines are {LEVEL} % bootstrap intervals. Measures without data are left out."],
    ]


def _lane(key: str, place: int, column: Column) -> Html:
    mean = column.result.means.get(key, _NONE)
    if mean.value is None:
        return h.span("lane")[()]
    low, high = (mean.value if end is None else end for end in (mean.low, mean.high))
    title = (
        f"{column.name}: {as_text(key, mean.value)}{_cell_text(key, mean)}, over {words.count(mean.known, 'question')}"
    )
    return h.span(f"lane s{place % len(MARKS)}", title=title, role="img", aria_label=title)[
        h.i("span", style=f"left:{low:.2%};width:{max(0.0, high - low):.2%}"),
        h.b(style=f"left:{mean.value:.2%}")[_mark(place)],
    ]


# The confusion


def confusions(columns: Sequence[Column], *, first: bool = False) -> Html:
    """Actions against what the retrieval held, a small matrix by strategy. `first`: of the first retrieval."""
    matrices = [_matrix(place, each, first) for place, each in enumerate(columns)]
    return h.div("cx eval-matrices")[matrices]


def _matrix(place: int, column: Column, first: bool) -> Html:
    counts = column.result.first_actions if first else column.result.actions
    most = max((number for row in counts.values() for number in row.values()), default=0) or 1
    acts = any(sum(counts[name].values()) for name in Action)
    shown = [name for name in counts if (acts if name != "none" else any(counts[name].values()))]
    heads = [h.th("r", scope="col")[_HELD[held]] for held in _HELD]
    body = [
        h.tr[h.th(scope="row")[_action(name)], [_count(name, held, counts[name][held], most) for held in _HELD]]
        for name in shown
    ]
    return h.table("eval-matrix")[
        h.caption[_sign(place), f" {column.name}"], h.thead[h.tr[h.th(scope="col")["Retrieval…"], heads]], h.tbody[body]
    ]


def _action(name: str) -> Html:
    if name == "none":
        return h.span("verdict none")["– no action"]
    return h.span(f"verdict {name.lower()}")[f"{words.ICONS[Action(name)]} {name}"]


_FITS = {("CORRECT", "holds"), ("INCORRECT", "missing")}
_CLASHES = {("CORRECT", "missing"), ("INCORRECT", "holds")}


def _count(name: str, held: str, number: int, most: int) -> Html:
    """A cell, darker the more it holds; whether it fits is told by a sign too."""
    sign = "✓" if (name, held) in _FITS else "✕" if (name, held) in _CLASHES else ""
    said = {"✓": "The action fits.", "✕": "The action does not fit.", "": ""}[sign]
    shade = f"--share:{number / most:.2f}"
    mark = h.span("fit", aria_hidden="true")[sign] if sign and number else ""
    return h.td("r", style=shade, title=said)[mark, f"{number:,}"]
