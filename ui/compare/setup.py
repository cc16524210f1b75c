"""What to compare: the question, and two to four ways of answering it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.pipeline.executor import check_question
from ui.app import clicks
from ui.app.session import REFUSALS, Session
from ui.compare import state
from ui.compare.state import MOST, QUESTION, Way
from ui.components import forms, problems

_AS_SCORED = "As the scores decide"


def form(session: Session) -> None:
    """The question, the lanes, and the button that starts all of them."""
    asked = st.text_area(
        "Question",
        key=QUESTION,
        height=68,
        placeholder="Ask a question about your documents",
        persist_state="session",
    )
    forms.question_limit(QUESTION)
    ways = state.ways()
    chosen: list[Way] = []
    with st.container(key="cmp-ways"):
        for place, column in enumerate(st.columns(len(ways), gap="medium")):
            with column:
                chosen.append(_way(session, ways, place))
    state.set_ways(chosen)
    asks = session.may("ask")
    with st.container(horizontal=True, vertical_alignment="center"):
        begin = st.button("Compare", key="compare-begin", type="primary", disabled=not asks)
        st.button("Add a column", key="compare-add", on_click=clicks.once(_add), disabled=len(ways) == MOST)
        st.caption("The same question, asked in every column at once." if asks else REFUSALS["ask"])
    if begin:
        with problems.reported():
            state.select(_started(session, asked, chosen))
            st.rerun()


def _way(session: Session, ways: list[Way], place: int) -> Way:
    """One lane's strategy and action; its widgets are new whenever lanes are added or removed."""
    way, turn = ways[place], state.state().turn
    strategy = forms.strategy(f"Column {place + 1}", way.strategy, f"cmp-strategy-{turn}-{place}", persist_state=None)
    plain = STRATEGIES[strategy].settings.evaluator == "none"
    options = ["", *(str(action) for action in Action)]
    forced = st.selectbox(
        "Act on",
        options,
        index=0 if plain else options.index(way.forced),
        format_func=lambda action: f"As if {action}" if action else _AS_SCORED,
        key=f"cmp-forced-{turn}-{place}-{'plain' if plain else 'graded'}",
        disabled=plain,
        help="The chunks are graded as usual; the run then continues as if the scores had led to this action.",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        changes = session.changes(strategy)
        note = (
            f"With your {words.count(len(changes), 'setting')}: {', '.join(words.describe_settings(changes))}."
            if changes
            else ""
        )
        st.caption(f"{markdown(STRATEGIES[strategy].help)} {words.source(STRATEGIES[strategy])} {markdown(note)}")
        if len(ways) > 2:
            st.button(
                "Remove",
                key=f"cmp-remove-{turn}-{place}",
                type="tertiary",
                on_click=clicks.once(_remove),
                args=(place,),
            )
    return Way(strategy, "" if plain else forced)


def _add() -> None:
    ways = state.ways()
    taken = {way.strategy for way in ways}
    following = next(
        (name for name in ("balanced", "paper", "three-way", *STRATEGIES) if name not in taken), "balanced"
    )
    state.renew_ways([*ways, Way(following)])


def _remove(place: int) -> None:
    ways = state.ways()
    state.renew_ways([*ways[:place], *ways[place + 1 :]])


def _started(session: Session, asked: str, ways: list[Way]) -> list[str]:
    """The ids of the runs, started together. Raises CragError."""
    asked = check_question(asked)
    made: list[tuple[str, Settings]] = []
    for way in ways:
        settings = session.settings(way.strategy)
        forced: Any = way.forced
        made.append((way.strategy, settings.changed(forced=forced) if forced != settings.forced else settings))
    return session.start(asked, made)


def questions(session: Session) -> None:
    """Before the first comparison: the sample's questions, each a click away."""
    sample = session.sample()
    if sample is None:
        return
    st.caption("Questions to try on the sample:")
    for number, each in enumerate(sample.questions):
        label = f"{words.ICONS[each.expected]}  {markdown(each.question)}"
        st.button(label, key=f"compare-try-{number}", on_click=_take, args=(each.question,))


def _take(question: str) -> None:
    st.session_state[QUESTION] = question
