"""Results by strategy and row by row: which measures are shown and in which words, tables, plots, filters."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import MEASURES, Mean, Result
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.answers import STATES
from crag.messages.evaluations import NOTES, TITLES, UNSCORED
from crag.messages.providers import cost_text
from crag.providers.prices import Spent
from crag.text.formats import money
from ui.app import tables
from ui.app.session import Session
from ui.components import forms


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    lets: Callable[[ResultRow], bool]


GROUPS: Mapping[str, tuple[str, ...]] = {
    "Retrieval": ("acted_recall", "acted_reciprocal_rank", "acted_holds"),
    "Action": ("acted_right", "abstention_right", "abstained"),
    "Evidence and answer": (
        *("right", "evidence_answer", "evidence_page", "evidence_source", "answer_holds", "answer_f1"),
        *("faithfulness", "evidence_words"),
    ),
    "Correction": ("rewrite_helped", "rewrites", "searches"),
    "Time and calls": (
        *("seconds", "remembered", "calls", "failed_calls", "failed_grades", "input_tokens", "output_tokens"),
    ),
}
"""What a result is read by, the important things first. All of it is per question, on average."""

REST: tuple[str, ...] = tuple(key for key in MEASURES if key not in {key for group in GROUPS.values() for key in group})
"""The measures that are in no group: of the first retrieval, mostly."""

SHARES: tuple[str, ...] = (
    *("acted_recall", "acted_reciprocal_rank", "acted_holds", "acted_right"),
    *("abstention_right", "right", "evidence_answer", "answer_holds", "answer_f1", "faithfulness"),
)
"""Shares of 0..1 of which more is better."""

_WHOLE = ("evidence_words", "input_tokens", "output_tokens")

FILTERS: Mapping[str, Filter] = {
    "all": Filter("All", lambda row: True),
    "failed": Filter("Failed", lambda row: bool(row.problem)),
    "wrong": Filter("Wrong action", lambda row: row.acted_right == 0),
    "missed": Filter("Not retrieved", lambda row: row.acted_holds is False),
    "lost": Filter("Not in the evidence", lambda row: row.evidence_answer is False),
    "unsaid": Filter("Answer doesn't say it", lambda row: row.answer_holds is False),
    "unscored": Filter("Answer not scored", lambda row: bool(row.unscored)),
    "abstained": Filter("Not found", lambda row: row.abstained is True),
    "misjudged": Filter("Wrongly answered or not found", lambda row: row.abstention_right is False),
    "web": Filter("Searched the web", lambda row: row.searches > 0),
}


def as_text(key: str, value: float | None) -> str:
    """A value in the form that its measure is read in; a dash for what is not known."""
    if value is None:
        return "–"
    if key == "seconds":
        return words.format_duration(value) if value > 0 else "0 s"
    return f"{value:,.0f}" if key in _WHOLE else f"{value:.2f}"


def signed(key: str, value: float | None) -> str:
    """A difference with its sign: + where the second is higher."""
    if value is None:
        return "–"
    size = as_text(key, abs(value))
    return size if value == 0 else f"{'+' if value > 0 else '−'}{size}"


def found(rows: Sequence[ResultRow], filter: str, wanted: str) -> list[ResultRow]:
    """The rows that a filter lets through and that hold all words typed, in question or answer."""
    lets = FILTERS[filter].lets
    sought = wanted.casefold().split()
    return [row for row in rows if lets(row) and _holds(row, sought)]


def _holds(row: ResultRow, sought: Sequence[str]) -> bool:
    text = f"{row.question_id} {row.question} {row.answer}".casefold() if sought else ""
    return all(word in text for word in sought)


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
    """Measures down, strategies across: a mean, its interval, and how many questions know it. `rest`: all others.

    What no strategy has a value of is left out: `unmeasured` names it.
    """
    groups: Mapping[str, Sequence[str]] = {"Other measures": REST} if rest else GROUPS
    rows = [{"Measure": "", **{_head(place, each): markdown(each.state) for place, each in enumerate(columns)}}]
    for group, named in groups.items():
        if not (keys := [key for key in named if _measured(key, columns)]):
            continue
        rows.append({"Measure": f"**{group}**", **dict.fromkeys(map(_head, range(len(columns)), columns), "")})
        for key in keys:
            cells = {_head(place, each): _cell(key, each) for place, each in enumerate(columns)}
            rows.append({"Measure": TITLES[key], **cells})
    if not rest:
        rows.append({"Measure": "Cost", **{_head(place, each): _cost(each) for place, each in enumerate(columns)}})
    return rows


def unmeasured(columns: Sequence[Column], *, rest: bool = False) -> list[str]:
    """The measures of the table that no strategy has a value of, by their titles."""
    keys = REST if rest else [key for group in GROUPS.values() for key in group]
    return [TITLES[key] for key in keys if not _measured(key, columns)]


def _measured(key: str, columns: Sequence[Column]) -> bool:
    return any(column.result.means.get(key, _NONE).value is not None for column in columns)


def notes(columns: Sequence[Column], *, rest: bool = False) -> list[str]:
    """What the measures of a table say, where their names do not."""
    keys = REST if rest else [key for group in GROUPS.values() for key in group]
    return [f"- **{TITLES[key]}**: {NOTES[key]}" for key in keys if NOTES.get(key)]


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


def confusion(column: Column) -> list[dict[str, str]]:
    """Actions against what the retrieval held, with a sign where they fit or clash."""
    counts = column.result.actions
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


_LOST = 240
"""Pixels of the column of reasons, the longest of all texts."""


def show_rows(
    session: Session, evaluation: Evaluation, rows: Sequence[ResultRow], reasons: Mapping[str, str] | None = None
) -> None:
    """The rows of an evaluation with their filters; `reasons`: where and why questions were lost, by their ids."""
    counts = {key: sum(map(each.lets, rows)) for key, each in FILTERS.items()}
    shown = [key for key in FILTERS if counts[key] or key == "all"]
    titles = {key: f"{FILTERS[key].name} {counts[key]:,}" for key in shown}
    chosen = forms.one_of("Rows", titles, f"eval-filter-{evaluation.id}", "all", chips=True, persist_state=None)
    wanted = st.text_input(
        "Find in questions and answers", key="eval-find", placeholder="Find in questions and answers",
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip
    kept = found(rows, chosen, wanted)
    if not kept:
        st.caption("No rows match. Choose another filter or a shorter search.")
        return
    known = set(session.library.runs.ids())
    st.caption(f"{words.count(len(kept), 'row')}. Select one to open its run in Ask.")
    tables.open_run(
        session,
        [_row(row, known, reasons) for row in kept],
        lambda row, column: kept[row].run_id if kept[row].run_id in known else "",
        f"eval-rows-{evaluation.id}-{chosen}-{wanted}",
        "Rows of the evaluation",
        {"Lost": _LOST} if reasons else None,
    )


def _row(row: ResultRow, known: Container[str], reasons: Mapping[str, str] | None) -> tables.Row:
    """What was asked, taken, found and said, and where it was lost."""
    return {
        "Question": row.question,
        "Answer": answer_text(row),
        "State": STATES[row.state],
        **({"Lost": reasons.get(row.question_id, "")} if reasons else {}),
        "Retrieved": sign(row.acted_holds),
        "In the evidence": sign(row.evidence_answer),
        "Answer right": sign(row.answer_holds),
        "Faithful": "–" if row.faithfulness is None else f"{row.faithfulness:.2f}",
        "Took": as_text("seconds", row.seconds),
        "Note": note(row, known),
    }


def answer_text(row: ResultRow) -> str:
    """What came of a question, or why nothing did."""
    return f"Failed: {row.problem}" if row.problem else excerpt(row.answer or "no answer", 220)


def sign(value: bool | None) -> str:
    """Whether it is so, in a sign."""
    return "–" if value is None else "✓" if value else "✕"


def note(row: ResultRow, known: Container[str]) -> str:
    """What else is to be said of a row; `known`: the runs that the history still holds."""
    gone = "" if row.run_id in known else "run deleted" if row.run_id else "no run"
    said = (f"not scored: {UNSCORED}" if row.unscored else "", gone)
    return ", ".join(filter(None, said))
