"""The first minute: what this is, what is on, and one click to see it work."""

from __future__ import annotations

import streamlit as st

from crag.core.types import Action
from ui.app import guide
from ui.app.program import providers
from ui.app.session import Session
from ui.ask import conversation
from ui.components import html as h
from ui.components import problems, words
from ui.components.drawing import draw
from ui.components.html import Html
from ui.components.safe_text import markdown
from ui.documents import progress, upload_form, uploads
from ui.run.path import chip

_LOCAL = ("Embedding model", "Retrieval evaluator")
"""Part of the program: named only where they are missing."""
_SEEN = "welcome-upload-seen"
"""Holds the upload whose results are listed here no more."""


def status(session: Session) -> Html:
    """What this session's questions are answered with, in one line. Raises CragError."""
    parts = [
        h.span("on" if on else "off")[f"{name}: {detail}"]
        for name, on, detail in providers(session.config, session.keys)
        if not (on and name in _LOCAL)
    ]
    if session.config.providers.web == "off":
        parts.append(h.span["Settings can point to a folder of trusted pages, or take a key for the web."])
    return h.div("cx")[h.div("status")[parts]]


def show(session: Session) -> None:
    """The page before any question: what is added here goes on here, and is asked about here. Raises CragError."""
    if guide.stuck(session) and uploads.current(session) is None:
        guide.show(session)
        return
    correct, ambiguous, incorrect = (chip(action) for action in Action)
    draw(
        h.div("cx hero")[
            h.h1["Ask your documents, and see why"],
            h.p[
                "Every passage found for a question is graded, and the grades decide what happens next: answer from "
                "your documents (",
                correct,
                "), bring in the web as well (",
                ambiguous,
                "), or turn to the web alone (",
                incorrect,
                "). Watch each step; click a number in the answer to see the page it comes from.",
            ],
        ]
    )
    with problems.reported():
        draw(status(session))
    job = uploads.current(session)
    if session.library.documents.count():
        conversation.entry(session)
        _questions(session)
    elif job is None or not job.running:
        _offer(session)
    upload_form.drop_zone(session)
    if job is not None and (job.running or job.id != st.session_state.get(_SEEN)):
        progress.follow(session, job, uploads.ender(session, job), uploads.forget)


def leave(session: Session) -> None:
    """A run is on the page: what came of an upload was seen, and is not listed here again."""
    job = uploads.current(session)
    if job is not None and not job.running:
        st.session_state[_SEEN] = job.id


def _offer(session: Session) -> None:
    st.subheader("No documents yet", anchor=False)
    if st.button("Load the sample library", key="sample", type="primary"):
        with problems.reported():
            uploads.load_sample(session)
            st.rerun()
    st.caption(
        "The sample is a real public report and a small folder of real pages that stands in for the web. Or drop files "
        "of your own:"
    )


def _questions(session: Session) -> None:
    documents, chunks = session.library.size
    st.caption(f"{words.count(documents, 'document')}, {words.count(chunks, 'chunk')} in the library.")
    sample = session.sample()
    if sample is None:
        return
    st.subheader("Three questions to try", anchor=False)
    for number, each in enumerate(sample.questions):
        label = f"{words.ICONS[each.expected]}  {markdown(each.question)}"
        if session.may("ask") and st.button(
            label, key=f"try-{number}", help=f"Ends {each.expected} by the local evaluator."
        ):
            with problems.reported():
                session.ask(each.question)
                st.rerun()
