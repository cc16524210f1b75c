"""Demo: recorded runs over the sample, each a story over the whole window; nothing is asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import streamlit as st

from crag.analysis.tour import QUESTIONS, STRATEGIES, Break, is_misled, load_runs, load_story, marked
from crag.core.trace import Trace
from crag.core.types import Action
from crag.export.html import elements as h
from crag.export.html import pages, words
from crag.export.html.answer import answer, state_chip
from crag.export.html.elements import Html
from crag.export.html.page_pictures import pictures
from crag.export.html.path import action
from crag.export.html.rail import picture_rail
from crag.export.html.safe_text import markdown
from crag.export.html.slides import DrawnSlide, draw_slides, show_slides
from crag.messages.explanations import TITLES, says_text, situation_sentence
from ui.app import navigation
from ui.app.program import prices_in_use
from ui.app.session import Session
from ui.components import downloads
from ui.components.drawing import apply_more, draw
from ui.run import pageview, presentation

_STORY, _BREAK = "story", "break"
"""What the address calls the story that is shown, and the name of the sample's being broken."""
_WHO = dict(zip(STRATEGIES, ("Plain RAG", "CRAG"), strict=True))
_ABOUT: Mapping[Action, tuple[str, str]] = {
    Action.CORRECT: ("The documents know", "One passage answers. The web is left alone."),
    Action.AMBIGUOUS: ("Half of it is missing", "The documents answer in part, so the web is searched too."),
    Action.INCORRECT: ("Nothing fits", "What was found is dropped. The web answers in its place."),
}
_BROKEN = "Broken on purpose"
_HOW = "The answer is taken away, a later year is asked for, an order to the model is planted."


def show(session: Session) -> None:
    """The wall of stories, and over it the one that the address names. Raises NotFoundError."""
    stories = _recorded()[0]
    if presentation.wanted():
        _present(session, st.query_params.get(_STORY, ""), stories)
    apply_more("rail.css")
    st.caption("Recorded over the sample, a public report. Each plays over the whole window: ← and → step, Esc ends.")
    places = iter([*st.columns(2, gap="medium"), *st.columns(2, gap="medium")])
    for each, (title, about) in _ABOUT.items():
        run = stories[each.lower()]
        with next(places):
            _card(session, each.lower(), title, run.meant, about, picture_rail(run), run)
    with next(places):
        _card(session, _BREAK, _BROKEN, _HOW, "Plain RAG and CRAG are asked the same.", _scoreboard())


def _card(
    session: Session, story: str, title: str, said: str, about: str, picture: Html, run: Trace | None = None
) -> None:
    with st.container(border=True, key=f"demo-{story}", height="stretch"):
        draw(picture)
        st.markdown(f"**{markdown(title)}**  \n{markdown(said)}")
        st.caption(markdown(about))
        with st.container(horizontal=True, gap="small"):
            st.button("Play", key=f"demo-play-{story}", on_click=_play, args=(story,), help=f"Plays “{title}”.")
            if run:
                name, make = pages.file_name(run, "html"), partial(_page, session, run)
                downloads.file("Save as a page", make, name, "text/html", key=f"demo-save-{story}")


def _page(session: Session, run: Trace) -> str:
    """A story as a file that replays without a network, for who was not there."""
    shown = pictures(session.library, run, pageview.image)
    return pages.page(run, load_story(str(run.action).lower()), prices_in_use(), pictures=shown)


def _play(story: str) -> None:
    navigation.name(story=story)
    presentation.enter()


def _present(session: Session, story: str, stories: Mapping[str, Trace]) -> None:
    if story == _BREAK:
        presentation.show(draw_slides(list(_slides()), _BROKEN, _HOW, name=story, app=True))
    elif trace := stories.get(story):
        presentation.show(show_slides(trace, pictures(session.library, trace, pageview.image), name=story, app=True))


@st.cache_resource(show_spinner=False)
def _recorded() -> tuple[dict[str, Trace], dict[Break, tuple[Trace, ...]]]:
    """The run of each action, and the runs of each situation."""
    stories = {each.lower(): Trace.from_events(load_story(each.lower())) for each in Action}
    return stories, {each: load_runs(each) for each in QUESTIONS}


def _scoreboard() -> Html:
    """How many of the situations misled each strategy."""
    misled = [[is_misled(each, run) for run in runs] for each, runs in _recorded()[1].items()]
    lines = [(who, " was misled ", h.b[sum(own)]) for who, *own in zip(_WHO.values(), *misled, strict=True)]
    return h.div("cx scoreboard")[(h.p[line, f" of {len(QUESTIONS)} times"] for line in lines)]


def _slides() -> Iterator[DrawnSlide]:
    """The score, then each situation with what both make of it side by side."""
    yield DrawnSlide(step=_BROKEN, says=_HOW, picture=_scoreboard())
    for each, runs in _recorded()[1].items():
        pair = h.div("pair")[(h.div[_run(trace)] for trace in runs)]
        yield DrawnSlide(step=TITLES[each], says=situation_sentence(each), picture=pair)


def _run(trace: Trace) -> Html:
    """One run's decision and answer, and how much of what it found speaks to a model."""
    head = h.p[h.b[_WHO[trace.strategy]], " ", state_chip(trace.outcome), " ", h.span("tag")[says_text(trace)]]
    number = marked(trace)
    note = h.p("small")[f"Marked: {words.count(number, 'chunk')} with text that speaks to a model."] if number else ""
    return h.fragment(h.div("cx")[head], action(trace), answer(trace, opens=False), h.div("cx")[note])
