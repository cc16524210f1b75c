"""Where answers are lost: a funnel for each evaluation that is shown, and every loss with its reason and its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.stages.funnel import STEPS, Followed, Funnel
from crag.export.html import words
from crag.export.html.safe_text import escaped, markdown
from crag.messages.evaluations import (
    LOST_TITLES,
    STEP_TITLES,
    funnel_sentence,
    left_out_sentence,
    loss_sentence,
    shown_steps,
)
from ui.app import clicks, tables
from ui.app.session import Session
from ui.components import charts, forms, problems
from ui.evaluate import evaluation_job, numbers
from ui.evaluate.evaluation_job import state
from ui.evaluate.table import MARKS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_QUESTION, _LOST, _WHY, _LINES = 200, 120, 780, 3
"""Widths of columns in pixels, and lines of a row: a phone shows question and step, a desktop the reason too."""
_SHARES = "How many questions pass each step, of those whose answer has a known place."
AT_ONCE = 500
"""Questions of one evaluation that are followed without being asked to."""


def show(session: Session, chosen: Sequence[Evaluation], called: Mapping[str, str]) -> dict[str, Funnel]:
    """The funnels in one chart, and what they say; by name those that are known."""
    st.header("Where answers are lost", anchor=False)
    found: dict[str, Funnel] = {}
    with problems.reported():
        found = {called[each.id]: funnel for each in chosen if (funnel := followed(session, each)) is not None}
        waiting = [each for each in chosen if called[each.id] not in found]
        if waiting:
            offer(waiting)
        _show(found)
    return found


def followed(session: Session, evaluation: Evaluation) -> Funnel | None:
    """The funnel of an evaluation; None of one under way, and of a large one before it is asked for."""
    job = evaluation_job.current(session)
    if job is not None and job.running and not evaluation.finished_at:
        return None
    if evaluation.done > AT_ONCE and evaluation.id not in state().followed:
        return None
    return numbers.funnel(session, evaluation)


def _follow(ids: Sequence[str]) -> None:
    state().followed.update(ids)


def offer(waiting: Sequence[Evaluation]) -> None:
    """Say why these are not followed, with a button for the large ones."""
    large = [each for each in waiting if each.done > AT_ONCE]
    if len(large) < len(waiting):
        st.caption("An evaluation in progress is shown here when it ends.")
    if large:
        number = sum(each.done for each in large)
        clicks.button(
            f"Follow {words.count(number, 'question')}",
            "eval-follow",
            _follow,
            [each.id for each in large],
            help="Reads every run, which takes about a second for 100 questions.",
        )


def _show(found: Mapping[str, Funnel]) -> None:
    figure = bars(found, charts.current_theme())
    if figure is not None:
        charts.shown(figure, "eval-funnel")
        st.caption(_SHARES)
    for place, (name, funnel) in enumerate(found.items()):
        mark = f"{MARKS[place % len(MARKS)]} **{markdown(name)}**: " if len(found) > 1 else ""
        st.markdown(f"{mark}{markdown(funnel_sentence(funnel))}")
        if rest := left_out_sentence(funnel):
            st.caption(markdown(rest))


def losses(session: Session, found: Mapping[str, Funnel]) -> None:
    """The losses of one of the evaluations, by step; each opens its run in Ask."""
    found = {name: funnel for name, funnel in found.items() if funnel.losses}
    if not found:
        return
    st.header("Lost answers", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(found) > 1:
            name = st.selectbox("Losses of", list(found), key="eval-losses-of", label_visibility="collapsed")
        else:
            name = next(iter(found))
        lost = found[name].lost
        titles = {"all": f"All {sum(lost.values()):,}"}
        titles |= {step: f"{LOST_TITLES[step]} {number:,}" for step, number in lost.items()}
        step = forms.one_of("Lost", titles, f"eval-losses-{name}", chips=True, persist_state=None)
    kept = [each for each in found[name].losses if step in ("all", each.lost)]
    kept.sort(key=lambda each: STEPS.index(each.lost or "support"))
    st.caption(f"{words.count(len(kept), 'loss', 'es')}. Select one to open its run in Ask.")
    rows = [{"Question": each.question, "Lost": lost_title(each), "Why": loss_sentence(each)} for each in kept]
    widths = {"Question": _QUESTION, "Lost": _LOST, "Why": _WHY}
    key = f"eval-losses-rows-{name}-{step}"
    tables.open_run(session, rows, lambda row, _: kept[row].run_id, key, "Lost answers", widths, lines=_LINES)


def lost_title(loss: Followed) -> str:
    """Where a question was lost; empty where it was not."""
    return LOST_TITLES[loss.lost] if loss.lost is not None else ""


def reasons(funnel: Funnel | None) -> dict[str, str]:
    """By question id where each loss was lost, and why."""
    return {each.question_id: f"{lost_title(each)}. {loss_sentence(each)}" for each in funnel.losses} if funnel else {}


_BAR, _GAP = 20, 14
"""Of the chart, in pixels."""


def bars(found: Mapping[str, Funnel], theme: str) -> Figure | None:
    """The share of the followed questions that pass each step, a bar for each evaluation; None without any."""
    import plotly.graph_objects as go  # takes half a second to load; only a chart needs it

    funnels = {name: funnel for name, funnel in found.items() if funnel.followed}
    if not funnels:
        return None
    colours = charts.COLOURS[theme]
    shades = (colours["accent"], colours["ink"], colours["quiet"])
    kept = {step for funnel in funnels.values() for step in shown_steps(funnel)}
    steps = [step for step in STEPS if step in kept]
    wide = _BAR / (_GAP + _BAR * len(funnels))
    traces = []
    for place, (name, funnel) in enumerate(funnels.items()):
        taken = [row for row, step in enumerate(steps) if step in shown_steps(funnel)]
        offset = wide * (place - (len(funnels) - 1) / 2)
        passed = [funnel.passed[steps[row]] for row in taken]
        said = [f"{number:,} of {funnel.followed:,}" for number in passed]
        traces.append(
            go.Bar(
                orientation="h",
                x=[number / funnel.followed for number in passed],
                y=[-row - offset for row in taken],
                width=wide * 0.9,
                name=f"{MARKS[place % len(MARKS)]} {escaped(name)}",
                marker_color=shades[place % 3],
                text=said,
                textposition="inside",
                insidetextanchor="start",
                textangle=0,
                textfont={"size": 11, "color": colours["ground"]},
                constraintext="none",
                customdata=[
                    f"{escaped(name)}: {STEP_TITLES[steps[row]]}, {text}" for row, text in zip(taken, said, strict=True)
                ],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    figure = charts.measured(traces, [STEP_TITLES[step] for step in steps], theme, [0, 1])
    figure.update_layout(height=60 + len(steps) * (_GAP + _BAR * len(funnels)), bargap=0)
    return figure.update_xaxes(tickformat=".0%", dtick=0.25)
