"""A blind vote on two evaluations: a question, its two answers in drawn order without names, and what people chose."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.analysis.intervals import left_of, tally, vote_pairs
from crag.analysis.metrics.metrics import ResultRow
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.evaluations import tally_sentence
from ui.app.clicks import once, requires
from ui.app.session import Session
from ui.evaluate import numbers

_LEFT, _RIGHT = "Left", "Right"
_LONGEST = 3_000
"""Characters of an answer that are shown."""


def show(session: Session, pair: tuple[Evaluation, Evaluation], said: tuple[str, str]) -> None:
    """The next question without a vote, and on request the count. Raises CragError."""
    one, other = (numbers.rows_of(session, each) for each in pair)
    pairs, ids = vote_pairs(one, other), (pair[0].id, pair[1].id)
    with st.expander("Vote blind: which answer is better?", key="eval-blind"):
        if not pairs:
            st.caption("No question has two answers that differ.")
            return
        votes = session.library.votes.of(ids)
        open_ones = [each for each in pairs if each[0].question_id not in votes]
        done = f"{len(pairs) - len(open_ones):,} of {words.count(len(pairs), 'question')} voted on."
        st.caption(f"{done} Vote before you read the tables below, which name the two.")
        if open_ones and session.may("ask"):
            _question(session, ids, open_ones[0])
        elif not open_ones:
            st.markdown("All questions are voted on.")
        with st.container(horizontal=True, vertical_alignment="center"):
            if votes and session.may("ask"):
                last = list(votes)[-1]
                st.button(
                    "Undo the last vote", key="eval-vote-undo", type="tertiary",
                    on_click=once(_undo), args=(session, ids, last),
                )  # fmt: skip
            counted = bool(votes) and st.toggle(
                "Show the count", key="eval-vote-count", help="Best looked at after voting."
            )
        if counted:
            st.markdown(markdown(tally_sentence(tally(ids, votes), said)))


def _question(session: Session, ids: tuple[str, str], rows: Sequence[ResultRow]) -> None:
    """A question with its two answers, left and right as they were drawn."""
    question_id = rows[0].question_id
    left = left_of(ids, question_id)
    order = (0, 1) if left == ids[0] else (1, 0)
    st.markdown(f"**{markdown(rows[0].question)}**")
    for column, title, place in zip(st.columns(2, gap="medium"), (_LEFT, _RIGHT), order, strict=True):
        with column.container(border=True):
            st.caption(title)
            st.markdown(markdown(excerpt(rows[place].answer or "No answer.", _LONGEST)))
    choices = {_LEFT: ids[order[0]], _RIGHT: ids[order[1]], "Both": "both", "Neither": "neither"}
    with st.container(horizontal=True):
        for title, choice in choices.items():
            st.button(
                title,
                key=f"eval-vote-{title.lower()}",
                on_click=once(_vote),
                args=(session, ids, question_id, choice),
            )


@requires("ask")
def _vote(session: Session, ids: tuple[str, str], question_id: str, choice: str) -> None:
    session.library.votes.save(ids, question_id, choice)


@requires("ask")
def _undo(session: Session, ids: tuple[str, str], question_id: str) -> None:
    session.library.votes.delete(ids, question_id)
