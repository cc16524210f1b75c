"""Two evaluations held against each other, question by question: differences with intervals, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.funnel import Funnel
from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import Difference
from crag.analysis.regression import Regression
from crag.core.errors import InputError
from crag.export.html.safe_text import markdown
from crag.export.regression import report
from crag.messages.evaluations import UNTIMED, difference_sentence, left_out_notes, loss_sentence, regression_sentence
from ui.app import guide, tables
from ui.app.session import Session
from ui.components import downloads, forms
from ui.evaluate import blind, funnel, numbers
from ui.evaluate.difference import STAGES, WHY, Change, changes, row, sentences
from ui.evaluate.difference import numbers as measured_numbers
from ui.evaluate.names import file_name, names

_WIDTHS = {"Question": 200, "What changed": 220, **dict.fromkeys(STAGES, 125), WHY: 600}
_ANSWER, _LINES = 270, 5
"""Widths of columns in pixels, and lines of a row."""
_KINDS: Mapping[str, tuple[str, Callable[[Change], bool]]] = {
    "worse": ("Worse", lambda change: change.has(False)),
    "better": ("Better", lambda change: change.has(True)),
    "all": ("All that changed", lambda change: True),
    "action": ("Other action", lambda change: change.has(None)),
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
    called = _called(ready)
    pair = _two(ready, called)
    if pair is None:
        return
    first, second = pair
    said = (called[first.id], called[second.id])
    funnels = funnel.followed(session, first), funnel.followed(session, second)
    found = _regression(session, pair, funnels, said)
    try:
        measures = found.measures if found is not None else numbers.difference(session, first, second, said)
    except ValueError as error:
        raise InputError(
            "These two have no question in common.", "Choose two evaluations of the same questions."
        ) from error
    blind.show(session, pair, said)
    one, other = (numbers.rows_of(session, each) for each in pair)
    losses = funnels[1].losses if funnels[1] is not None else ()
    reasons = {each.question_id: loss_sentence(each) for each in losses}
    _changed(session, changes(one, other, found, reasons), said)
    st.subheader("Differences", anchor=False)
    st.markdown(sentences(measures, said))
    st.caption(UNTIMED)
    st.table(measured_numbers(measures, said), border="horizontal", hide_index=True)
    over = f"{LEVEL} % bootstrap intervals over the questions that measure both"
    st.caption(f"Second minus first, with {over}. In bold: the interval excludes zero.")
    _files(first, second, measures, found)


def _regression(
    session: Session,
    pair: tuple[Evaluation, Evaluation],
    funnels: tuple[Funnel | None, Funnel | None],
    said: tuple[str, str],
) -> Regression | None:
    """Whether answers got worse since the first, its baseline, in a sentence; None where nothing can tell."""
    try:
        found = numbers.regression(session, pair, funnels, said)
    except InputError as error:
        st.caption(markdown(f"{error.message} {error.remedy}"))
        return None
    st.markdown(f"**{markdown(regression_sentence(found))}**")
    for note in left_out_notes(found):
        st.caption(markdown(note))
    if waiting := [each for each, followed in zip(pair, funnels, strict=True) if followed is None]:
        funnel.offer(waiting)
    return found


def _called(ready: Sequence[Evaluation]) -> dict[str, str]:
    """Names with their sets, where there are several sets."""
    called = names(ready)
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


def _files(first: Evaluation, second: Evaluation, measures: Mapping[str, Difference], found: Regression | None) -> None:
    fields = ["value" if column == "difference" else column for column in _COLUMNS[:-1]]
    lines = [[*(getattr(each, field) for field in fields), difference_sentence(each)] for each in measures.values()]
    stem = file_name(first.set_name, first.strategy, "to", second.strategy)
    with st.popover("Export"):
        downloads.table("Differences", lambda: (_COLUMNS, lines), stem, key="eval-pair")
        if found is not None:
            downloads.file("Report, MD", lambda: report(found), f"{stem}.md", "text/markdown", key="eval-pair-report")


def _changed(session: Session, found: Sequence[Change], said: tuple[str, str]) -> None:
    """The questions that ended otherwise."""
    st.subheader("Questions that changed", anchor=False)
    if not found:
        st.caption("None: every question ended the same way in both.")
        return
    counts = {key: sum(map(lets, found)) for key, (_, lets) in _KINDS.items()}
    titles = {key: f"{title} {counts[key]:,}" for key, (title, _) in _KINDS.items() if counts[key]}
    start = "worse" if counts["worse"] else "all"
    kind = forms.one_of("Which", titles, f"eval-changes-{'-'.join(said)}", start, chips=True, persist_state=None)
    kept = [change for change in found if _KINDS[kind][1](change)]
    runs = set(session.library.runs.ids())
    st.caption("Select an answer to open its run in Ask. Other cells open the second's, “Lost before” the baseline's.")

    def run_of(place: int, column: str) -> str:
        change = kept[place]
        run = (change.first if column in (said[0], STAGES[1]) else change.second).run_id
        return run if run in runs else ""

    rows = [row(each, said) for each in kept]
    widths = _WIDTHS | dict.fromkeys(said, _ANSWER)
    tables.open_run(session, rows, run_of, f"eval-changed-{kind}", "Questions that changed", widths, lines=_LINES)
