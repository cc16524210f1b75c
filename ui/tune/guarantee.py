"""The pair of thresholds that labels certify for a promise that the person chooses, or what is missing for one."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from crag.analysis.thresholds.guarantee import Certificate, Promise, Shortfall, Tally, certify, tally_cases
from crag.core.settings import Settings
from crag.evaluation.adaptation import adapt, shipped_id
from crag.export.html.safe_text import markdown
from crag.messages.tuning import ASSUMPTION, OUTDATED, guarantee_sentence, left_out_text
from ui.app.program import program
from ui.app.session import Session
from ui.tune import sliders
from ui.tune.cache import cached
from ui.tune.stored import Learnable


def show(session: Session, about: Hashable, part: Learnable, settings: Settings, own: Settings) -> None:
    """The section. `about`: what `part` was chosen by. `own`: what Ask uses now. Raises CragError."""
    fold = st.expander(
        "Certified pair: a promise about what is called CORRECT", key="tune-guarantee", on_change="rerun"
    )
    if not fold.open:
        return
    documents = session.library.documents
    # The pairs that are tested do not move with the sliders.
    asked = settings.changed(upper=own.upper, lower=own.lower)

    def tallied() -> Tally:
        ids = {id for case in part.cases for stored in case.entry.rounds[:1] for id in stored.chunks}
        return tally_cases(part.cases, asked, documents.existing_chunks(ids))

    tally = cached("tally", part, (about, asked, documents.version()), tallied)
    with fold:
        _section(tally, settings, outdated=_outdated(session, part.evaluator))


def _outdated(session: Session, scored_by: str) -> bool:
    """Whether the evaluator learned from labels after it gave these scores, or unlearned it. Raises StorageError."""
    shipped = program().engine.evaluator
    used = adapt(shipped, session.library.labels.adaptation()).id
    return shipped_id(scored_by) == shipped.id and scored_by != used


def _section(tally: Tally, settings: Settings, *, outdated: bool) -> None:
    left, right = st.columns([5, 6], gap="large")
    with left:
        found = certify(tally, _promise())
        st.caption(ASSUMPTION)
    with right:
        _draw(found)
        if isinstance(found, Certificate):
            if outdated:
                st.warning(OUTDATED)
            sliders.offer("certified", settings, found.best.upper, found.best.lower)


def _promise() -> Promise:
    """The share and the confidence, as the person chooses them; kept between pages."""
    with st.container(horizontal=True):
        percent = st.number_input(
            "Wrong at most, %", 0.5, 50.0, 5.0, step=0.5, format="%g", key="tune-promise", persist_state="session",
            help="The largest share of the questions called CORRECT that may be wrong.",
        )  # fmt: skip
        confidence = st.selectbox(
            "Confidence, %", (90, 95, 99), index=1, key="tune-promise-confidence", persist_state="session",
            help="How likely the promise is to hold; otherwise, luck in the labels certified a wrong pair.",
        )  # fmt: skip
    return Promise(target=percent / 100, confidence=confidence / 100)


def _draw(found: Certificate | Shortfall) -> None:
    if isinstance(found, Certificate):
        best, questions = found.best, found.counted.questions
        with st.container(horizontal=True):
            st.metric("Upper", f"{best.upper:.2f}", width="content")
            st.metric("Lower", f"{best.lower:.2f}", width="content")
            st.metric("Called CORRECT", f"{best.called / questions:.0%}", width="content")
            st.metric("Wrong at most", f"{found.promise.target:.3%}".replace(".000", ""), width="content")
    st.markdown(markdown(guarantee_sentence(found)))
    if left_out := left_out_text(found.counted):
        st.caption(markdown(left_out))
