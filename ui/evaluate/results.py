"""Results of evaluations: side by side in a table, where answers are lost, rows, files, and deleting them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Result, flat
from crag.analysis.stages.funnel import Funnel
from crag.core.errors import InputError
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.evaluations import TITLES, parts_sentence
from ui.app import guide, navigation
from ui.app.session import Session
from ui.components import downloads, forms, problems
from ui.evaluate import evaluation_job, funnel, numbers
from ui.evaluate.numbers import file_name, name, names
from ui.evaluate.table import MARKS, Column, confusion, measures, notes, show_rows, unmeasured

_BESIDE = 3
"""So many strategies leave room for the plot beside their table."""
_SUMMARY = ("set", "strategy", "settings", "parts", "measure", "name", "mean", "low", "high", "known", "questions")


def show(session: Session, made: Sequence[Evaluation]) -> None:
    """Everything that is known of a set's evaluations. Raises CragError."""
    made = [each for each in made if each.done]
    if not made:
        said = (
            "Choose or add questions under Questions, pick strategies and run them. The measures of each strategy, "
            "each question with its run, and exports appear here."
        )
        guide.empty(session, "No results yet.", said)
        return
    here = _set(made)
    called = names(here, session.called)
    chosen = _chosen(here, called)
    if not chosen:
        st.caption("Choose an evaluation above.")
        return
    columns = [_column(session, each, called[each.id]) for each in chosen]
    left, right = st.columns([7, 6], gap="large") if len(columns) <= _BESIDE else (st.container(), st.container())
    with left:
        _measures(columns)
        with st.expander("Other measures: first retrieval", key="eval-rest"):
            _measures(columns, rest=True)
    with right:
        st.header("Actions", anchor=False)
        for place, column in enumerate(columns):
            st.markdown(f"{MARKS[place % len(MARKS)]} **{markdown(column.name)}**")
            st.table(confusion(column), border="horizontal", hide_index=True)
        found = funnel.show(session, chosen, called)
    funnel.losses(session, found)
    _rows(session, chosen, called, found)


def _measures(columns: Sequence[Column], *, rest: bool = False) -> None:
    st.table(measures(columns, rest=rest), border="horizontal", hide_index=True)
    if missing := unmeasured(columns, rest=rest):
        st.caption(f"Not measured, because no question or run has what they need: {', '.join(missing)}.")
    if said := notes(columns, rest=rest):
        with st.popover("What these measure", type="tertiary"):
            st.markdown("\n".join(said))


def _set(made: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations of the set that is looked at."""
    sets = {each.set_id: each.set_name for each in made}
    wanted = st.session_state.get("eval-set")
    if st.session_state.get("eval-results-set") not in sets:
        st.session_state["eval-results-set"] = wanted if wanted in sets else next(iter(sets))
    chosen = forms.choice("Question set", sets, "eval-results-set") if len(sets) > 1 else next(iter(sets))
    return [each for each in made if each.set_id == chosen]


def _chosen(here: Sequence[Evaluation], called: Mapping[str, str]) -> list[Evaluation]:
    """Those to be shown side by side: at first the latest of each strategy as named."""
    latest: dict[str, str] = {}
    for each in here:
        latest.setdefault(f"{each.strategy} {each.settings.model_dump_json()}", each.id)
    picked = st.multiselect(
        "Evaluations",
        [each.id for each in here],
        default=list(latest.values())[: len(MARKS) // 2],
        max_selections=len(MARKS),
        format_func=lambda id: called[id],
        key=f"eval-shown-{here[0].set_id}-{len(here)}",
    )
    return [each for each in reversed(here) if each.id in picked]


def _column(session: Session, evaluation: Evaluation, called: str) -> Column:
    result = numbers.result(session, evaluation)
    return Column(
        name=called,
        parts=parts_sentence(evaluation),
        done=result.questions,
        questions=evaluation.questions,
        result=result,
        cost=numbers.cost(session, evaluation),
    )


def _rows(
    session: Session, chosen: Sequence[Evaluation], called: Mapping[str, str], funnels: Mapping[str, Funnel]
) -> None:
    """The rows of one of them, with its files; `funnels` by name."""
    st.header("Rows", anchor=False)
    by_id = {each.id: each for each in chosen}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {id: called[id] for id in by_id}
        picked = forms.choice("Rows of", titles, "eval-rows-of", label_visibility="collapsed", persist_state=None)
        evaluation = by_id[picked]
        rows = numbers.rows_of(session, evaluation)
        _files(session, evaluation, called[picked], chosen)
        if session.may("edit"):
            _delete(session, evaluation, called[picked])
        st.button("Tune on these runs", key="eval-tune", type="tertiary", on_click=navigation.go, args=("tune",))
    started = f"{words.moment(evaluation.started_at)}. {parts_sentence(evaluation)}"
    st.caption(markdown(started))
    show_rows(session, evaluation, rows, funnel.reasons(funnels.get(called[picked])))


def _files(session: Session, evaluation: Evaluation, called: str, chosen: Sequence[Evaluation]) -> None:
    """The downloads of one evaluation's rows, and of the summary of all that are chosen."""

    def rows() -> downloads.Table:
        return rows_table(numbers.rows_of(session, evaluation))

    def summary() -> downloads.Table:
        return summary_table(session, [(each, numbers.result(session, each)) for each in chosen])

    with st.popover("Export"):
        stem = file_name(evaluation.set_name, called, "rows")
        downloads.table("Rows of this one", rows, stem, key="eval-rows")
        downloads.table("Summary of all shown", summary, file_name(evaluation.set_name, "summary"), key="eval-summary")


def rows_table(rows: Sequence[ResultRow]) -> downloads.Table:
    """Every row with all its measures; a column that a row does not have is empty."""
    tables = [flat(row) for row in rows]
    columns = list(dict.fromkeys(column for table in tables for column in table))
    return columns, [[table.get(column) for column in columns] for table in tables]


def summary_table(session: Session, results: Sequence[tuple[Evaluation, Result]]) -> downloads.Table:
    """A line for each measure of each evaluation, and for each count of the confusion of actions."""
    lines: list[Sequence[Any]] = []
    for evaluation, result in results:
        lead = (
            evaluation.set_name,
            name(evaluation, session.called),
            evaluation.settings.model_dump_json(),
            parts_sentence(evaluation),
        )
        for key, mean in result.means.items():
            said = TITLES[key]
            lines.append((*lead, key, said, mean.value, mean.low, mean.high, mean.known, result.questions))
        for action, counts in result.actions.items():
            for held, number in counts.items():
                key, said = f"action_{action}_{held}", f"{action}, retrieval {held}"
                lines.append((*lead, key, said, number, None, None, result.questions, result.questions))
    return _SUMMARY, lines


def _delete(session: Session, evaluation: Evaluation, called: str) -> None:
    with st.popover("Delete"):
        st.markdown(f"Delete **{markdown(called)}** with its {words.count(evaluation.done, 'result')}?")
        runs = st.checkbox("Also delete its runs from the history", key=f"eval-gone-runs-{evaluation.id}")
        if st.button("Delete", key=f"eval-gone-{evaluation.id}", type="primary"):
            with problems.reported():
                _remove(session, evaluation.id, runs)
                st.rerun()


def _remove(session: Session, id: str, runs: bool) -> None:
    session.require("edit")
    job = evaluation_job.current(session)
    if job is not None and job.running:
        raise InputError("An evaluation is under way.", "Stop it, or wait until it ends; then delete.")
    session.library.evaluations.delete(id, runs=runs)
    session.note("delete", "evaluation", f"{id}, with its runs" if runs else id)
