"""Results by strategy: the table of measures, and the confusion of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.metrics.results import STEP_SECONDS, Mean, Result
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.evaluations import NOTES, title_of
from crag.messages.providers import cost_text
from crag.providers.prices import Spent
from crag.text.formats import money
from ui.evaluate.measures import GROUPS, REST, as_text

MARKS = ("●", "◆", "■", "▲", "○", "◇", "□", "△")
"""A shape for each strategy, so that colour never speaks alone."""

_NONE = Mean(value=None, known=0)
_HELD = {"holds": "Answer retrieved", "missing": "Not retrieved", "unknown": "Unknown"}


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


def measures(columns: Sequence[Column], *, rest: bool = False) -> list[dict[str, str]]:
    """Measures down, strategies across: a mean, its interval, and how many questions know it. `rest`: all others."""
    groups: Mapping[str, Sequence[str]] = {"Other measures": _rest(columns)} if rest else GROUPS
    rows = [{"Measure": "", **{_head(place, each): markdown(each.state) for place, each in enumerate(columns)}}]
    for group, keys in groups.items():
        rows.append({"Measure": f"**{group}**", **dict.fromkeys(map(_head, range(len(columns)), columns), "")})
        for key in keys:
            cells = {_head(place, each): _cell(key, each) for place, each in enumerate(columns)}
            rows.append({"Measure": title_of(key), **cells})
    if not rest:
        rows.append({"Measure": "Cost", **{_head(place, each): _cost(each) for place, each in enumerate(columns)}})
    return rows


def notes(columns: Sequence[Column], *, rest: bool = False) -> list[str]:
    """What the measures of a table say, where their names do not."""
    keys = _rest(columns) if rest else [key for group in GROUPS.values() for key in group]
    return [f"- **{title_of(key)}**: {NOTES[key]}" for key in keys if NOTES.get(key)]


def _rest(columns: Sequence[Column]) -> list[str]:
    steps = sorted({key for column in columns for key in column.result.means if key in STEP_SECONDS})
    return [*REST, *steps]


def _head(place: int, column: Column) -> str:
    return f"{MARKS[place % len(MARKS)]} {markdown(column.name)}"


def _cell(key: str, column: Column) -> str:
    mean = column.result.means.get(key, _NONE)
    if mean.value is None:
        return "–"
    interval = f" ({as_text(key, mean.low)}–{as_text(key, mean.high)})" if mean.low != mean.high else ""
    known = "" if mean.known == column.done else f" :small[:gray[{mean.known:,}\u00a0of\u00a0{column.done:,}]]"
    return f"**{as_text(key, mean.value)}**{interval}{known}"


def _cost(column: Column) -> str:
    whole = column.cost
    if not whole.calls:
        return "**\\$0** no calls"
    if whole.unknown and not whole.dollars:
        return markdown(cost_text(whole))
    lead = "at least " if whole.unknown else ""
    each = markdown(money(whole.dollars / max(1, column.done)))
    return f"**{lead}{each}** each, {markdown(money(whole.dollars))} in all"


_FITS = {("CORRECT", "holds"), ("INCORRECT", "missing")}
_CLASHES = {("CORRECT", "missing"), ("INCORRECT", "holds")}


def confusion(column: Column, *, first: bool = False) -> list[dict[str, str]]:
    """Actions against what the retrieval held, with a sign where they fit or clash. `first`: of the first retrieval."""
    counts = column.result.first_actions if first else column.result.actions
    acts = any(sum(counts[name].values()) for name in Action)
    shown = [name for name in counts if (acts if name != "none" else any(counts[name].values()))]
    return [
        {"Action": _action(name), **{said: _count(name, held, counts[name][held]) for held, said in _HELD.items()}}
        for name in shown
    ]


def _action(name: str) -> str:
    return "– no action" if name == "none" else f"{words.ICONS[Action(name)]} {name}"


def _count(name: str, held: str, number: int) -> str:
    sign = "✓ " if (name, held) in _FITS else "✕ " if (name, held) in _CLASHES else ""
    return f"{sign if number else ''}{number:,}"
