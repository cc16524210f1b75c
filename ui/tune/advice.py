"""Where labels say the thresholds should be: the recommended pair and why, and the worth of every other one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import streamlit as st

from crag.analysis.thresholds.recommend import Recommendation, Refusal, recommend
from crag.analysis.thresholds.sweep import Effort, Weights, gains
from crag.core.settings import Settings
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.tuning import recommendation_sentence, refusal_sentence, warning_sentence
from ui.components import charts
from ui.tune import sliders
from ui.tune.cache import cached
from ui.tune.stored import Learnable

_WEIGHTS = (
    ("right", "A right action", 1.0, 0.0, 5.0, "CORRECT where the documents hold the answer, INCORRECT where not."),
    (
        "ambiguous",
        "AMBIGUOUS, as a share of that",
        0.75,
        0.0,
        1.0,
        "It reads both sources, so the answer is seldom lost.",
    ),
    ("call", "A model call costs", 0.05, 0.0, 1.0, "In the same unit as a right action."),
    ("search", "A web search costs", 0.1, 0.0, 1.0, "In the same unit as a right action."),
)

LABEL_MORE = (
    "Rate chunks as relevant or not (in Ask, the thumbs beside a chunk), or evaluate a question set that names the "
    "expected answer, source or page."
)


def why_none(settings: Settings) -> str:
    """Why no pair is recommended under a strategy of this kind; empty where one can be."""
    if settings.evaluator == "none":
        return "This strategy grades nothing (plain RAG), so it has no thresholds to recommend."
    if settings.binary:
        return (
            "This strategy reads each grade as relevant or not, at one threshold: there is no pair to recommend. "
            "Choose a strategy with two thresholds above."
        )
    return ""


def _weights() -> Weights:
    """What a right action is worth and what calls and searches cost, as the person says; kept between pages."""
    keys = {name: f"tune-weight-{name}" for name, *_ in _WEIGHTS}
    form = st.popover("Weights", key="tune-weights", on_change="rerun")
    if not form.open:
        return Weights(**{name: st.session_state.get(keys[name], usual) for name, _, usual, *_ in _WEIGHTS})
    found = {}
    with form:
        st.caption("Worth of a pair: right actions, less what calls and searches cost, per question.")
        for name, label, usual, low, high, help in _WEIGHTS:
            found[name] = st.number_input(
                label,
                low,
                high,
                usual,
                step=0.05,
                format="%.2f",
                key=keys[name],
                help=help,
                persist_state="session",
            )
    return Weights(**found)


def show(about: Hashable, part: Learnable, settings: Settings, own: Settings) -> None:
    """The recommendation or why there is none, and the map of all pairs.

    `about`: what `part` was chosen by. `own`: what Ask uses now.
    """
    said = st.container()
    with st.container(horizontal=True):
        action = st.container(width="content")
        worth = _weights()

    spent: dict[str, Any] = {"aggregation": settings.aggregation, "doubt": settings.ambiguity_margin}
    spent |= {"weights": worth, "effort": Effort.of(settings)}

    def advised() -> Recommendation | Refusal:
        return recommend(part.questions, current=(own.upper, own.lower), **spent)

    found = cached("advice", part, (about, worth), advised)
    with said:
        _draw_advice(found)
    if isinstance(found, Recommendation):
        with action:
            sliders.offer("recommended", settings, found.upper, found.lower)
    if len({each.answerable for each in part.questions if each.known} - {None}) < 2:
        return  # labels of one kind alone always favour an extreme pair
    theme = charts.current_theme()
    best = (found.lower, found.upper) if isinstance(found, Recommendation) else None
    every = cached("gains", part, (about, worth), lambda: gains(part.questions, **spent))
    figure = cached("heat", part, (about, worth, theme, best), lambda: charts.heat(every, best, theme))
    here = gains(part.questions, uppers=[settings.upper], lowers=[settings.lower], **spent).utility()[0, 0]
    st.subheader("Worth of every pair", anchor=False)
    number = words.count(every.base.size, "labelled question")
    st.caption(f"Mean over {number}; the stronger the colour, the better. The sliders' pair is worth {here:.2f}.")
    charts.shown(figure, "tune-heat")


def _draw_advice(found: Recommendation | Refusal) -> None:
    if isinstance(found, Refusal):
        st.markdown(f"**No recommendation yet.** {markdown(refusal_sentence(found))}")
        st.caption(LABEL_MORE)
        return
    st.markdown("**Recommended pair**")
    with st.container(horizontal=True):
        for name, value, ends in zip(("Upper", "Lower"), (found.upper, found.lower), found.intervals, strict=True):
            interval = f"{ends[0]:.2f} to {ends[1]:.2f}"
            st.metric(name, f"{value:.2f}", interval, delta_color="off", delta_arrow="off", width="content")
    st.markdown(markdown(recommendation_sentence(found)))
    for each in found.warnings:
        st.warning(markdown(warning_sentence(each)))
