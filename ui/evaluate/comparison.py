"""Two evaluations held against each other, question by question: differences with intervals, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import Difference
from crag.core.errors import InputError
from crag.messages.evaluations import UNTIMED, difference_sentence
from ui.app import tables
from ui.app.session import Session
from ui.components import charts, downloads
from ui.components import html as h
from ui.components.drawing import draw
from ui.evaluate import numbers
from ui.evaluate.difference import Change, changes, intervals, row, sentences
from ui.evaluate.difference import numbers as other_numbers
from ui.evaluate.names import file_name, names

_EMPTY = h.div("cx hero")[
    h.p["Two results are needed."],
    h.p("quiet")[
        "Run two strategies over the same questions, or one strategy with other settings: their differences appear "
        "here, with confidence intervals."
    ],
]
_KINDS: Mapping[str, tuple[str, Callable[[Change], bool]]] = {
    "all": ("All that changed", lambda change: True),
    "better": ("Better", lambda change: any(better for _, better in change.what)),
    "worse": ("Worse", lambda change: any(better is False for _, better in change.what)),
    "action": ("Other action", lambda change: any(better is None for _, better in change.what)),
}


def show(session: Session, made: Sequence[Evaluation]) -> None:
    """Choose two, and see the second against the first. Raises CragError."""
    ready = [each for each in made if each.done]
    if len(ready) < 2:
        draw(_EMPTY)
        return
    called = _called(ready)
    pair = _two(ready, called)
    if pair is None:
        return
    first, second = pair
    said = (called[first.id], called[second.id])
    try:
        found = numbers.difference(session, first, second, said)
    except ValueError as error:
        raise InputError(
            "These two have no question in common.", "Choose two evaluations of the same questions."
        ) from error
    st.markdown(sentences(found, said))
    st.caption(UNTIMED)
    st.subheader("Differences", anchor=False)
    figure = intervals(found, said, charts.current_theme())
    if figure is not None:
        charts.shown(figure, "eval-diff")
        lines = f"the lines are {LEVEL} % bootstrap intervals over the questions that measure both."
        st.caption(f"Second minus first; {lines} A filled mark: the interval excludes zero.")
    if rest := other_numbers(found, said):
        st.table(rest, border="horizontal", hide_index=True)
    _files(first, second, found)
    rows = [numbers.rows_of(session, each) for each in (first, second)]
    _changed(session, changes(*rows), said)


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
        "First", ids, index=ids.index(base.id), format_func=lambda id: called[id], key=f"eval-first-of-{len(ids)}"
    )
    others = [id for id in ids if id != first]
    best = next((id for id in others if by_id[id].set_id == by_id[first].set_id), others[0])
    second = right.selectbox(
        "Second, compared with it",
        others,
        index=others.index(best),
        format_func=lambda id: called[id],
        key=f"eval-second-to-{first}",
    )
    return (by_id[first], by_id[second]) if second in by_id else None


_COLUMNS = ("measure", "pairs", "first", "second", "difference", "low", "high", "includes_zero", "sentence")


def _files(first: Evaluation, second: Evaluation, found: Mapping[str, Difference]) -> None:
    fields = ["value" if column == "difference" else column for column in _COLUMNS[:-1]]
    lines = [[*(getattr(each, field) for field in fields), difference_sentence(each)] for each in found.values()]
    stem = file_name(first.set_name, first.strategy, "to", second.strategy)
    with st.popover("Export"):
        downloads.table("Differences", lambda: (_COLUMNS, lines), stem, key="eval-pair")


def _changed(session: Session, found: Sequence[Change], said: tuple[str, str]) -> None:
    """The questions that ended otherwise."""
    st.subheader("Questions that changed", anchor=False)
    if not found:
        st.caption("None: every question ended the same way in both.")
        return
    counts = {key: sum(map(lets, found)) for key, (_, lets) in _KINDS.items()}
    kind = st.pills(
        "Which",
        [key for key in _KINDS if counts[key]],
        default="all",
        required=True,
        format_func=lambda key: f"{_KINDS[key][0]} {counts[key]:,}",
        key=f"eval-changes-{'-'.join(said)}",
        label_visibility="collapsed",
    )
    kept = [change for change in found if _KINDS[kind or "all"][1](change)]
    runs = set(session.library.runs.ids())
    st.caption("Select an answer to open its run in Ask.")

    def run_of(place: int, column: str) -> str:
        change = kept[place]
        run = (change.first if column == said[0] else change.second).run_id
        return run if run in runs else ""

    rows = [row(each, said) for each in kept]
    tables.open_run(session, rows, run_of, f"eval-changed-{kind}", "Questions that changed")
