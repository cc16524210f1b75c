"""The first minute: what this is in a sentence, a run that plays by itself, and one click to try it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from urllib.parse import urlsplit

import streamlit as st

from crag.analysis.tour import load_story
from crag.core.errors import NotFoundError
from crag.core.events import Event, StepFinished
from crag.core.trace import Trace
from crag.core.types import Step
from crag.export.html import elements as h
from crag.export.html import path, slides, words
from crag.export.html.elements import Html
from crag.export.html.safe_text import markdown
from crag.messages.wording import VERDICTS
from ui.app import guide, navigation, tab
from ui.app.program import program
from ui.app.session import Session
from ui.ask import conversation
from ui.components import problems
from ui.components.drawing import apply_more, draw
from ui.documents import progress, uploads
from ui.settings import choices

_TITLE = "Ask your documents, and see why"
_ABOUT = (
    "CRAG Explorer grades every passage that it finds for your question, and searches the web where your documents do "
    "not answer."
)
_LATEST = 3
"""Documents that are asked about where the sample is not here."""
_HERE = ("localhost", "127.0.0.1", "[::1]")
_LOCAL = ("Embedding model", "Retrieval evaluator")
"""Part of the program: named only where they are missing."""


def show(session: Session) -> None:
    """The page before any question: what is added here goes on here, and is asked about here. Raises CragError."""
    if guide.stuck(session) and uploads.current(session) is None:
        guide.show(session)
        return
    job = uploads.current(session)
    reading = job is not None and job.running
    if session.library.documents.count():
        if not reading:
            conversation.ask_waiting(session)
        st.title(_TITLE, anchor=False)
        conversation.entry(session)
        _library(session)
    else:
        left, right = st.columns([5, 6], gap="large")
        with left:
            st.title(_TITLE, anchor=False)
            st.markdown(_ABOUT)
            conversation.entry(session)
            if not reading:
                _sample(session)
            uploads.drop_zone(session)
        with right:
            play()
    if job is not None and (job.running or job.id != tab.runs().listed):
        progress.follow(session, job, uploads.forget)
    with problems.reported():
        status(session)


def status(session: Session) -> None:
    """Where the work is done, in one line; what each part is, on demand. Raises CragError."""
    with st.expander(f"{_where(session)} · details"):
        choices.status(session, without=_LOCAL)
        if session.config_to_ask.providers.web == "off":
            st.caption("In Settings you can choose a folder of trusted pages, or enter a key for web search.")


def _where(session: Session) -> str:
    """Which other machines are asked, if any."""
    hosts = [each.host for each in session.resolve_providers().leaving]
    storage = session.config.storage
    hosts += [urlsplit(each).hostname or "" for each in (storage.database_url, storage.milvus_uri) if each]
    others = dict.fromkeys(
        host for host in hosts if host and host.rpartition(":")[0] not in _HERE and host not in _HERE
    )
    return f"Runs on this machine, and asks {' and '.join(others)}" if others else "Runs on this machine"


def leave(session: Session) -> None:
    """A run is on the page: what came of an upload was seen, and is not listed here again."""
    job = uploads.current(session)
    if job is not None and not job.running:
        tab.runs().listed = job.id


def _library(session: Session) -> None:
    """How much there is, and questions to try: the sample's where it is here, else what the latest documents are."""
    documents, chunks = session.library.size
    held = f"{words.count(documents, 'document')}, {words.count(chunks, 'chunk')} in the library."
    st.caption(f"{held} Add more on the page Documents." if session.may("edit") else held)
    asked: dict[str, str] = {}
    if sample := session.sample():
        asked = {each.question: f"Your documents: {VERDICTS[each.expected]}." for each in sample.questions}
    elif session.settings(session.strategy).overview:
        latest = reversed([*session.library.documents.names().values()][-_LATEST:])
        asked = {f"What is {re.sub(r'[-_]+', ' ', PurePath(name).stem)} about?": name for name in latest}
    _questions(session, "Three questions to try" if sample else "Try a question", asked)
    if sample:
        st.button("Break it on purpose: a demo", key="to-tour", type="tertiary", on_click=navigation.go, args=("demo",))


def _sample(session: Session) -> None:
    """The questions of the sample, of which each loads it."""
    with problems.reported():
        sample = program().engine.sample()
        asked = {each.question: "" for each in sample.questions}
        _questions(session, "Three questions to a sample, a public report:", asked, uploads.load_sample)


def _questions(
    session: Session, said: str, asked: Mapping[str, str], first: Callable[[Session], None] | None = None
) -> None:
    """A button for each question, with what is said on hover; `first` is done before it is asked."""
    if not asked or not session.may("ask"):
        return
    st.caption(said)
    for number, (question, says) in enumerate(asked.items()):
        if st.button(markdown(question), key=f"try-{number}", help=markdown(says) or None):
            with problems.reported():
                conversation.put(session, question)
                if first:
                    first(session)
                st.rerun()


_log = logging.getLogger(__name__)

_ENDS: Mapping[str, Step] = {"Evaluate": "evaluate", "Action": "act", "Refine": "refine", "Search": "refine"}
"""By slide, the step at whose end the path is drawn."""
_SHOWN = ("Question", *_ENDS, "Answer")
"""The slides of the run that are played; tour.css gives each its share of the time."""


def play() -> None:
    """Draw the run with its states in turn; nothing where the recording is missing or can't be read."""
    if drawn := _drawn():
        apply_more("rail.css")
        apply_more("present.css")
        apply_more("tour.css")
        draw(drawn)


@st.cache_resource(show_spinner=False)
def _drawn() -> Html:
    try:
        return draw_states(load_story("ambiguous"))
    except NotFoundError as error:
        _log.warning("the recorded run of the first page is not shown: %s", error)
        return Html()


def draw_states(events: Sequence[Event]) -> Html:
    """The states of a run on top of each other: its path as far as it has come, one sentence and one picture."""
    shown = [slide for slide in slides.run_slides(Trace.from_events(events), {}) if slide.step in _SHOWN]
    states = [
        h.li(style=f"--at:{place}")[
            path.path(_until(events, slide.step)),
            h.p("says")[h.span("step")[slide.step], slide.says],
            h.div("picture")[slide.picture],
        ]
        for place, slide in enumerate(shown)
    ]
    return h.figure("cx tour", aria_label="A recorded run, step by step")[
        h.div("about")[
            "A recorded run over the sample",
            h.span("still")["Scroll for the next step"],
            h.details("pause")[h.summary[h.span("off")["Pause"], h.span("on")["Play"]]],
        ],
        h.ol("states", tabindex="0")[states],
    ]


def _until(events: Sequence[Event], step: str) -> Trace:
    """The run as it was when a slide of this step could be shown: by the first end for strips, else the last."""
    if step not in _ENDS:
        return Trace.from_events(events[:1] if step == "Question" else events)
    ends = [at for at, event in enumerate(events, 1) if isinstance(event, StepFinished) and event.step == _ENDS[step]]
    return Trace.from_events(events[: ends[0] if step == "Refine" else ends[-1]])
