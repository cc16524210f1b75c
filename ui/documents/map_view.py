"""The library as a map: what it is coloured by, and what a person selects on it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from crag.analysis.atlas import layout, projection
from crag.analysis.atlas.projection import Projection, Question
from crag.core.errors import ModelMismatchError
from crag.core.protocols import embed_question
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.index.chunk_index import Contents
from crag.runtime.jobs import Job
from crag.storage.library import Library
from ui.app import clicks, fragments, tables
from ui.app.program import program
from ui.app.session import Session
from ui.components import charts, forms, problems
from ui.components.remembered import remembered
from ui.documents import bulk_actions, table
from ui.documents.listing import Held
from ui.documents.map_figure import COLOURED, DRAWN, Chunks, Groups, draw, read_chunks
from ui.documents.state import state

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

AT_ONCE = 20_000
"""The most chunks of which a map is made while the page is drawn; of more, a job makes it."""
VIEW = "documents-view"
"""The key of the choice between the list and the map."""
_KEY = "documents-map"
_FEWEST = 3
"""Chunks that a map is made of."""
_MOST_ASKED = 100
_LISTED = 8
_FIRST = 160
"""Characters of a chunk that are shown of it."""
_BUTTONS = ["lasso2d", "select2d", "pan2d", "zoom2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]
Version = tuple[Contents, int]
"""What a projection was made of: another one as soon as chunks are added, deleted or embedded again."""


def show(session: Session, held: Sequence[Held]) -> None:
    """The map, what it is coloured by, and what is selected on it. Raises CragError."""
    library, count = session.library, sum(each.document.chunks for each in held)
    if count < _FEWEST:
        st.caption(f"The library has {words.count(count, 'chunk')}: a map is made from {_FEWEST} on.")
        return
    made = _current(session, count)
    if made is None:
        return
    version, found = made
    stamp = str(library.folder), library.documents.version()
    chunks = _chunks(stamp, version, _library=library, _found=found)
    if not len(chunks.numbers):
        return
    questions = _questions(library, found)
    titles = {"topic": "Colours: topics", "document": "Colours: documents"}
    colour = forms.one_of("Colours", titles, "map-colour")
    theme = charts.current_theme()
    key = (stamp, version, library.facts.standing(), colour, theme)
    figure = _figure(key, _draw=lambda: draw(chunks, _groups(chunks, colour), questions, theme))
    st.plotly_chart(
        figure,
        theme=None,
        key=_KEY,
        on_select=_select,
        selection_mode=["lasso", "box", "points"],
        config={"displaylogo": False, "modeBarButtons": [_BUTTONS], "displayModeBar": True},
        alt=f"A map of {words.count(len(chunks.numbers), 'chunk')} and {words.count(len(questions), 'question')}",
    )
    _notes(chunks, questions, count)
    _selected(session, chunks, questions)


# ---- what is drawn -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Latest:
    """The map of a library that was `made` last, the `job` that makes the next one, and what that was started `of`."""

    made: tuple[Version, Projection] | None = None
    job: Job[None] | None = None
    of: Version | None = None


@st.cache_resource(show_spinner=False, max_entries=8)
def _latest(folder: str) -> _Latest:
    """Numbers of chunks and their places: no text, so a deletion need not empty it."""
    return _Latest()


def _current(session: Session, count: int) -> tuple[Version, Projection] | None:
    """The projection of the library as it is; of a large one the one before, while a job makes it."""
    library, latest = session.library, _latest(str(session.library.folder))
    version = library.points.standing()
    if latest.made is not None and latest.made[0] == version:
        return latest.made
    if count <= AT_ONCE:
        with st.spinner("Drawing the map…"):
            latest.made = version, projection.project(library)
        return latest.made
    if latest.job is None or (latest.of != version and not latest.job.running):
        latest.of, latest.job = version, _begin(session, latest, version)
    job = latest.job
    if job.running:
        fragments.follow(session, lambda: job.running, lambda: st.caption("Bringing the map up to date…"))
    elif job.problem is not None:
        problems.show(job.problem)
        st.button("Try again", key="map-again", on_click=_forget_job, args=(latest,))
    same_vectors = latest.made is not None and latest.made[0][0] == version[0]
    return latest.made if same_vectors else None


def _begin(session: Session, latest: _Latest, version: Version) -> Job[None]:
    engine, workspace = program().engine, session.workspace

    def work(cancel: threading.Event, emit: Callable[[None], None]) -> None:
        latest.made = version, projection.project(engine.library(workspace))

    return program().jobs.start("map", "the map", work, workspace=workspace)


def _forget_job(latest: _Latest) -> None:
    latest.job = None


@remembered(show_spinner="Drawing the map…", max_entries=4)
def _chunks(
    stamp: tuple[str, tuple[str, int, int]], version: Version, *, _library: Library, _found: Projection
) -> Chunks:
    return read_chunks(_library, _found)


@remembered(max_entries=8)
def _figure(key: tuple[object, ...], *, _draw: Callable[[], Figure]) -> Figure:
    return _draw()


def _questions(library: Library, found: Projection) -> list[Question]:
    """Past questions; none where another model made the library's vectors, of which the page says so."""
    try:
        library.check_model()
    except ModelMismatchError:
        return []
    model = program().engine.embedder.id
    return projection.past_questions(library, found, lambda question: _vector(model, question))


@remembered(max_entries=1_000)
def _vector(model: str, question: str) -> NDArray[np.float32]:
    return embed_question(program().engine.embedder, question)


def _groups(chunks: Chunks, colour: str) -> Groups:
    if colour == "topic":
        return Groups(of=chunks.topics)
    largest = [place for place, _ in Counter(chunks.documents.tolist()).most_common(COLOURED)]
    rank = np.full(len(chunks.names), -1)
    rank[largest] = np.arange(len(largest))
    return Groups(of=rank[chunks.documents], names=[chunks.names[place] for place in largest])


def _notes(chunks: Chunks, questions: Sequence[Question], held: int) -> None:
    of = f" of {held:,}, evenly over all" if held > projection.MOST else ""
    said = f"{words.count(len(chunks.numbers), 'chunk')}{of}, {words.count(len(questions), 'past question')}."
    if len(chunks.numbers) > DRAWN:
        said += f" {DRAWN:,} points are drawn, evenly over all. A selection takes all."
    st.caption(f"{said} Near points say similar things; the axes have no meaning. Draw around points to select them.")


# ---- what is selected ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selection:
    """What a person selected: outlines, corners (m, 2) each, and the custom data of points clicked."""

    outlines: tuple[tuple[tuple[float, float], ...], ...] = ()
    clicked: tuple[str, ...] = ()


def _select() -> None:
    """Note what was selected: the figure forgets it when it is drawn in other colours."""
    chosen: Any = st.session_state[_KEY]["selection"]
    outlines = [tuple(zip(each["x"], each["y"], strict=True)) for each in chosen["lasso"]]
    for each in chosen["box"]:
        (x0, x1), (y0, y1) = each["x"], each["y"]
        outlines.append(((x0, y0), (x1, y0), (x1, y1), (x0, y1)))
    clicked = () if outlines else tuple(str(point.get("customdata")) for point in chosen["points"])
    state().selection = Selection(tuple(outlines), clicked)


def _clear() -> None:
    state().selection = None


def _selected(session: Session, chunks: Chunks, questions: Sequence[Question]) -> None:
    chosen = state().selection
    if not isinstance(chosen, Selection) or not (chosen.outlines or chosen.clicked):
        return
    rows = np.isin(chunks.numbers.astype(str), chosen.clicked)
    asked = [each for each in questions if each.run in chosen.clicked]
    for outline in chosen.outlines:
        corners = np.array(outline, np.float32)
        rows |= layout.inside(chunks.points, corners)
        asked += [each for each in questions if layout.inside(each.point[None], corners)[0]]
    with st.container(border=True, key="map-selection"):
        _describe(session, chunks, np.flatnonzero(rows), asked)


def _describe(session: Session, chunks: Chunks, rows: NDArray[np.int64], asked: Sequence[Question]) -> None:
    documents = Counter(chunks.documents[rows].tolist())
    said = f"{words.count(len(rows), 'chunk')} of {words.count(len(documents), 'document')}"
    st.markdown(f"**Selected: {said}" + (f", {words.count(len(asked), 'question')}**" if asked else "**"))
    with st.container(horizontal=True, gap="small"):
        if documents:
            _offer_documents(session, [chunks.ids[place] for place in documents])
        st.button("Clear", key="map-clear", type="tertiary", on_click=_clear)
    named = [f"**{markdown(chunks.names[place])}**: {words.count(n, 'chunk')}" for place, n in documents.most_common()]
    st.markdown("\n".join(f"- {each}" for each in named[:_LISTED]))
    _say_more(len(named), "document")
    _list_chunks(session, chunks, rows)
    with st.container(gap=None):
        for place, each in enumerate(asked[:_LISTED]):
            icon = words.ICONS.get(each.action, "")  # type: ignore[call-overload]
            label = f"{icon} {markdown(excerpt(each.text, 110))}"
            clicks.button(label, f"map-open-{place}", tables.show_run, session, each.run, type="tertiary")
    _say_more(len(asked), "question")


def _list_chunks(session: Session, chunks: Chunks, rows: NDArray[np.int64]) -> None:
    listed = rows[:_LISTED]
    numbers = chunks.numbers[listed].tolist()
    texts, pages = session.library.points.texts(numbers), session.library.points.pages(numbers)
    for number, place in zip(numbers, chunks.documents[listed].tolist(), strict=True):
        if number in texts:
            first = markdown(excerpt(texts[number], _FIRST))
            st.caption(f"{markdown(chunks.names[place])}, p. {pages[number]}: “{first}”")
    _say_more(len(rows), "chunk")


def _say_more(count: int, noun: str) -> None:
    if count > _LISTED:
        st.caption(f"And {words.count(count - _LISTED, f'more {noun}')}.")


def _offer_documents(session: Session, ids: Sequence[str]) -> None:
    many = len(ids) > _MOST_ASKED
    help = (
        f"At most {_MOST_ASKED} documents can be asked by themselves. Give them a tag and ask that."
        if many
        else "Your questions then search only these documents, until you choose Ask all in Ask."
    )
    if session.may("ask"):
        label = "Ask only this document" if len(ids) == 1 else "Ask only these documents"
        clicks.button(label, "map-ask", bulk_actions.ask_only, session, ids, type="primary", disabled=many, help=help)
    st.button("Select in the list", key="map-list", on_click=_list, args=(ids,))


def _list(ids: Sequence[str]) -> None:
    table.pick(ids)
    st.session_state[VIEW] = "list"
