"""The panel of coverage gaps: what the documents did not answer, with web pages to keep and documents to add."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.analysis.gaps import RUNS, FoundPage, Gap, found_pages, gaps
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import excerpt, site
from crag.ingest.files import ENDINGS
from crag.messages.answers import origins_text
from crag.storage.library import Library
from ui.app import navigation
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.components.remembered import remembered
from ui.documents import uploads
from ui.documents.state import state
from ui.run import saved_pages

_SHOWN = 10
"""So many gaps have a place of their own."""
_OPEN = "gaps-open"


def show(session: Session) -> None:
    """The panel, which looks for gaps once it is opened; nothing where no question was asked yet."""
    with problems.reported():
        if not session.library.runs.latest(1):
            return
        panel = st.expander("Coverage gaps: questions that your documents did not answer", key=_OPEN, on_change="rerun")
        if panel.open:
            runs = tuple((run.run_id, run.action) for run in session.library.runs.latest(RUNS))
            with panel:
                _list(session, _found(str(session.library.folder), runs, _library=session.library))


@remembered(show_spinner="Looking for gaps…", max_entries=64, ttl=3600)
def _found(folder: str, runs: tuple[tuple[str, str], ...], *, _library: Library) -> list[Gap]:
    """The gaps of these runs: the same as long as they are the latest."""
    return gaps(_library, program().engine.embedder)


def _list(session: Session, found: Sequence[Gap]) -> None:
    left, closed = [gap for gap in found if not gap.closed_by], [gap for gap in found if gap.closed_by]
    if not left:
        st.caption("None: recent questions to the whole library were all answered from the documents.")
    for number, gap in enumerate(left[:_SHOWN]):
        with st.container(border=True, key=f"gap-{number}"):
            _one(session, gap, number)
    if len(left) > _SHOWN:
        st.caption(f"And {len(left) - _SHOWN} more, asked less often or longer ago.")
    if closed:
        items = [h.li[gap.question, h.span("small")[f" asked {_times(gap)}"]] for gap in closed[:_SHOWN]]
        draw(h.div("cx")[h.h3["Answered since ", h.span("small")[len(closed)]], h.ul[items]])


def _one(session: Session, gap: Gap, number: int) -> None:
    others = gap.others and h.p("small")["Also asked as: ", h.joined("; ", gap.others[:3])]
    draw(h.div("cx")[h.b[gap.question], h.p("small")[f"Asked {_times(gap)}"], others])
    pages = found_pages(session.library, gap)
    for place, each in enumerate(pages):
        if each.document or not session.may("edit"):
            _page(each)
            continue
        text_side, button = st.columns([6, 1], vertical_alignment="center")
        with text_side:
            _page(each)
        button.button(
            "Keep",
            key=f"gap-keep-{number}-{place}",
            on_click=once(_keep),
            args=(session, each),
            width="stretch",
            help="Saves this page as a document. It stays unverified until you confirm it.",
        )
    with st.container(horizontal=True, gap="small"):
        if session.may("ask"):
            st.button("Ask again", key=f"gap-ask-{number}", on_click=once(_ask), args=(session, gap.question))
        if session.may("edit"):
            with st.popover("Add documents"):
                _add(session, number)


def _times(gap: Gap) -> str:
    said = f"{words.count(gap.asked, 'time')}, last {words.ago(gap.last)}"
    return f"{said}, {through}" if (through := origins_text(gap.vias)) else said


def _page(found: FoundPage) -> None:
    page = found.page
    about = [site(page.url), page.published, f"found by {words.web(page.provider)}"]
    draw(
        h.div("cx")[
            h.span("where")[h.span("tag web")["WEB"], h.span("name")[page.title or page.url]],
            h.div("small")[" · ".join(each for each in about if each)],
            found.document
            and h.div("small")[
                h.b[f"✓ Kept as {excerpt(found.document.name, 80)}"],
                h.br,
                "Ask again: an answer from your documents closes the gap.",
            ],
        ]
    )


@requires("edit")
def _keep(session: Session, found: FoundPage) -> None:
    trace = session.library.runs.trace(found.run)
    saved_pages.announce(saved_pages.kept(session, trace, found.page.id))


@requires("ask")
def _ask(session: Session, question: str) -> None:
    session.ask(question)
    navigation.go("ask")


def _add(session: Session, number: int) -> None:
    """A place for files beside the gap that they are to fill; what is dropped is added as on the page's own."""
    turn = state().turns.setdefault("gap", 0)
    dropped = st.file_uploader(
        "Add documents",
        type=list(ENDINGS),
        accept_multiple_files=True,
        key=f"gap-drop-{turn}-{number}",
        label_visibility="collapsed",
    )
    if dropped:
        files = [(file.name, uploads.reader(file)) for file in dropped]
        uploads.start(session, files, words.count(len(files), "file"))
        state().turns["gap"] += 1
        st.rerun()
