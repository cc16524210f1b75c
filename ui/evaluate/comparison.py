"""Two evaluations against each other: the sentences that matter, the numbers, the questions that changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference
from crag.core.errors import InputError
from crag.export.html.safe_text import markdown
from crag.messages.answers import STATES
from crag.messages.evaluations import (
    ROUGH,
    TITLES,
    UNTIMED,
    difference_sentence,
)
from ui.app import guide, tables
from ui.app.session import Session
from ui.components import downloads, forms
from ui.evaluate import numbers
from ui.evaluate.numbers import file_name, names
from ui.evaluate.table import GROUPS, SHARES, answer_text, as_text, signed

_SAID = (
    "right",
    "evidence_answer",
    "acted_right",
    "abstention_right",
    "faithfulness",
    "acted_recall",
)
"""What is said in words even where nothing is sure."""
_SHOWN = (*SHARES, "evidence_words", "rewrites", "searches", "calls", "input_tokens", "output_tokens")
"""What is shown in numbers."""


def sentences(found: Mapping[str, Difference], said: tuple[str, str]) -> str:
    """What differs for sure, then what does not, each in a sentence, as Markdown."""
    order = [measure for group in GROUPS.values() for measure in group]
    known = [found[key] for key in order if key in found and found[key].value is not None]
    sure = [each for each in known if each.includes_zero is False]
    unsure = [found[key] for key in _SAID if key in found and found[key] in known and found[key] not in sure]
    shown = [*sure[:6], *unsure[: max(1, 6 - len(sure))]]
    all_rough = bool(shown) and all(each.rough for each in shown)
    rough = f" {ROUGH}" if all_rough else ""
    lead = (
        f"**{len(sure)} of {len(known)}** measures differ between {markdown(said[0])} and {markdown(said[1])} with an"
    )
    listed = (f"- {markdown(difference_sentence(each, rough=not all_rough))}" for each in shown)
    return "\n".join([f"{lead} interval that excludes zero.{rough}", "", *listed])


def other_numbers(found: Mapping[str, Difference], said: tuple[str, str]) -> list[dict[str, str]]:
    """The measures in both, each difference with its interval; in bold where that excludes zero."""
    return [
        {
            "Measure": TITLES[each.measure],
            markdown(said[0]): as_text(each.measure, each.first),
            markdown(said[1]): as_text(each.measure, each.second),
            "Difference": f"**{_signed(each)}**" if each.includes_zero is False else _signed(each),
            f"{LEVEL} % interval": _between(each),
        }
        for each in (found[key] for key in _SHOWN if key in found and found[key].value is not None)
    ]


def _signed(each: Difference) -> str:
    return signed(each.measure, each.value)


def _between(each: Difference) -> str:
    if each.low is None or each.high is None:
        return "–"
    return f"{signed(each.measure, each.low)} to {signed(each.measure, each.high)}"


# Questions that ended otherwise


@dataclass(frozen=True, slots=True)
class Change:
    """One question under both, and what differs, in words; `better` None where neither way is better in itself."""

    first: ResultRow
    second: ResultRow
    what: tuple[tuple[str, bool | None], ...]

    def has(self, better: bool | None) -> bool:
        """Whether it is better (True), worse (False) or only otherwise; a right answer lost or won decides."""
        gained = _gained(self.first, self.second)
        if gained is not None and better is not None:
            return gained is better
        return any(each is better for _, each in self.what)


def changes(first: Sequence[ResultRow], second: Sequence[ResultRow]) -> list[Change]:
    """The questions in both that did not end alike: those no longer right, then those right now, then the others."""
    theirs = {row.question_id: row for row in second}
    pairs = [(one, theirs[one.question_id]) for one in first if one.question_id in theirs]
    found = [Change(*pair, what) for pair in pairs if (what := _differences(*pair))]
    return sorted(found, key=lambda change: (False, True, None).index(_gained(change.first, change.second)))


def _gained(one: ResultRow, other: ResultRow) -> bool | None:
    """True where the second alone is right, False where the first alone is; None where that did not change."""
    return None if one.right is other.right or None in (one.right, other.right) else other.right


_WATCHED = (
    ("acted_holds", "now retrieved", "no longer retrieved"),
    ("evidence_answer", "evidence now holds it", "evidence no longer holds it"),
    ("evidence_page", "evidence now from an expected page", "evidence no longer from an expected page"),
)
_JUDGED = (
    ("answer_holds", "answer now says it", "answer no longer says it"),
    ("abstention_right", "now rightly answered or not found", "now wrongly answered or not found"),
)
"""What is said of the answer itself."""
_MARKS = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")


def _same_answer(one: ResultRow, other: ResultRow) -> bool:
    """Whether both give the same answer, but for the numbers of citations."""
    said = [(" ".join(_MARKS.sub("", row.answer).split()), row.short_answer, row.abstained) for row in (one, other)]
    return bool(said[0][0]) and said[0] == said[1]


def _differences(one: ResultRow, other: ResultRow) -> tuple[tuple[str, bool | None], ...]:
    """What changed. An answer that stayed the same became neither better nor worse: then what it is judged by did."""
    states = [row.state for row in (one, other)]
    # A result of an earlier build has none.
    taken = [(" → ".join(map(STATES.__getitem__, states)), None)] if all(states) and len({*states}) > 1 else []
    listed: list[tuple[str, bool | None]] = []
    if bool(one.problem) != bool(other.problem):
        listed.append(("now fails", False) if other.problem else ("no longer fails", True))
    judged = _watched(one, other, _JUDGED)
    if not _same_answer(one, other):
        listed += judged
    listed += (evidence := _watched(one, other, _WATCHED))
    if judged and not evidence and _same_answer(one, other):
        listed.append(("same answer, judged by another label", None))
    return (*listed, *taken)


def _watched(
    one: ResultRow, other: ResultRow, watched: Sequence[tuple[str, str, str]]
) -> list[tuple[str, bool | None]]:
    """The measures that both know and that differ, in words."""
    both = [(getattr(one, name), getattr(other, name), gained, lost) for name, gained, lost in watched]
    return [
        (gained if after else lost, bool(after))
        for before, after, gained, lost in both
        if before is not None and after is not None and before != after
    ]


def row(change: Change, said: tuple[str, str]) -> dict[str, str]:
    """A question that ended otherwise: what changed, and both answers."""
    what = [f"{'✓ ' if better else '✕ ' if better is False else ''}{text}" for text, better in change.what]
    return {
        "Question": change.first.question,
        "What changed": "; ".join(what),
        **{
            name: answer_text(row) if row.problem else f"{STATES[row.state]}: {answer_text(row)}"
            for name, row in zip(said, (change.first, change.second), strict=True)
        },
    }


_WIDTHS = {"Question": 200, "What changed": 220}
_ANSWER, _LINES = 270, 5
"""Widths of columns in pixels, and lines of a row."""
_KINDS: Mapping[str, tuple[str, Callable[[Change], bool]]] = {
    "worse": ("Worse", lambda change: change.has(False)),
    "better": ("Better", lambda change: change.has(True)),
    "all": ("All that changed", lambda change: True),
    "action": ("Other state", lambda change: change.has(None)),
}


def show(session: Session, made: Sequence[Evaluation]) -> None:
    """Choose two, and see the second against the first. Raises CragError."""
    ready = [each for each in made if each.done]
    if len(ready) < 2:
        how = (
            "Run two strategies over the same questions, or one strategy with other settings: their differences "
            "appear here, with confidence intervals."
        )
        guide.empty(session, "Two results are needed.", how)
        return
    called = _called(session, ready)
    pair = _two(ready, called)
    if pair is None:
        return
    first, second = pair
    said = (called[first.id], called[second.id])
    try:
        measures = numbers.difference(session, first, second, said)
    except ValueError as error:
        raise InputError(
            "These two have no question in common.", "Choose two evaluations of the same questions."
        ) from error
    one, other = (numbers.rows_of(session, each) for each in pair)
    _changed(session, changes(one, other), said)
    st.header("Differences", anchor=False)
    st.markdown(sentences(measures, said))
    st.caption(UNTIMED)
    st.table(other_numbers(measures, said), border="horizontal", hide_index=True)
    over = f"{LEVEL} % bootstrap intervals over the questions that measure both"
    st.caption(f"Second minus first, with {over}. In bold: the interval excludes zero.")
    _files(first, second, measures)


def _called(session: Session, ready: Sequence[Evaluation]) -> dict[str, str]:
    """Names with their sets, where there are several sets."""
    called = names(ready, session.called)
    if len({each.set_id for each in ready}) > 1:
        called = {each.id: f"{called[each.id]}, {each.set_name}" for each in ready}
    return called


def _two(ready: Sequence[Evaluation], called: Mapping[str, str]) -> tuple[Evaluation, Evaluation] | None:
    """The baseline first: at the start plain RAG if it is there, against the latest of the same set."""
    by_id = {each.id: each for each in ready}
    same = [each for each in ready if each.set_id == ready[0].set_id]
    base = next((each for each in same if each.strategy == "plain-rag"), same[-1])
    left, right = st.columns(2, gap="medium")
    ids = list(by_id)
    first = left.selectbox(
        "Baseline", ids, index=ids.index(base.id), format_func=lambda id: called[id], key=f"eval-first-of-{len(ids)}"
    )
    others = [id for id in ids if id != first]
    best = next((id for id in others if by_id[id].set_id == by_id[first].set_id), others[0])
    second = right.selectbox(
        "Compared with it",
        others,
        index=others.index(best),
        format_func=lambda id: called[id],
        key=f"eval-second-to-{first}",
    )
    return (by_id[first], by_id[second]) if second in by_id else None


_COLUMNS = ("measure", "pairs", "first", "second", "difference", "low", "high", "includes_zero", "sentence")


def _files(first: Evaluation, second: Evaluation, measures: Mapping[str, Difference]) -> None:
    fields = ["value" if column == "difference" else column for column in _COLUMNS[:-1]]
    lines = [[*(getattr(each, field) for field in fields), difference_sentence(each)] for each in measures.values()]
    stem = file_name(first.set_name, first.strategy, "to", second.strategy)
    with st.popover("Export"):
        downloads.table("Differences", lambda: (_COLUMNS, lines), stem, key="eval-pair")


def _changed(session: Session, found: Sequence[Change], said: tuple[str, str]) -> None:
    """The questions that ended otherwise."""
    st.header("Questions that changed", anchor=False)
    if not found:
        st.caption("None: every question ended the same way in both.")
        return
    counts = {key: sum(map(lets, found)) for key, (_, lets) in _KINDS.items()}
    titles = {key: f"{title} {counts[key]:,}" for key, (title, _) in _KINDS.items() if counts[key]}
    start = "worse" if counts["worse"] else "all"
    kind = forms.one_of("Which", titles, f"eval-changes-{'-'.join(said)}", start, chips=True, persist_state=None)
    kept = [change for change in found if _KINDS[kind][1](change)]
    runs = set(session.library.runs.ids())
    st.caption("Select an answer to open its run in Ask. Other cells open the second run.")

    def run_of(place: int, column: str) -> str:
        change = kept[place]
        run = (change.first if column == said[0] else change.second).run_id
        return run if run in runs else ""

    rows = [row(each, said) for each in kept]
    widths = _WIDTHS | dict.fromkeys(said, _ANSWER)
    tables.open_run(session, rows, run_of, f"eval-changed-{kind}", "Questions that changed", widths, lines=_LINES)
