"""The library as a map: what it is coloured by, its layers, and what a person selects on it."""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from crag.analysis.atlas import layout, projection
from crag.analysis.atlas.projection import Projection
from crag.core.errors import CancelledError, CragError
from crag.core.filters.where import Scope
from crag.core.trace import Trace
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown, site
from crag.export.html.slides import DrawnSlide, list_reasons, show_drawn
from crag.runtime.jobs import Job
from crag.storage.facts import Standing
from crag.storage.library import Library
from ui.app import clicks, fragments, navigation, tab
from ui.app.clicks import requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import charts, problems
from ui.components.remembered import remembered
from ui.documents import table
from ui.documents.listing import Held
from ui.documents.map_figure import DRAWN, SAMPLED, Chunks, Layers, Shade, draw, read_chunks
from ui.documents.state import EVALUATE_SCOPED, MONITOR_PICKED, PICKED, TUNE_RUNS, state
from ui.run import presentation

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

AT_ONCE = 2_000
"""The most chunks of which a map is made while the page is drawn; of more, a job makes it."""
VIEW = "documents-view"
"""The key of the choice between the list and the map."""
_KEY, _JOB = "documents-map", "map"
_TITLE = "Map of the library"
_MOST_ASKED = 100
_LISTED = 8
_FIRST = 90
"""Characters of a chunk that are shown of it."""
_COLOURS = {
    "cluster": "Topic",
    "document": "Document",
    "age": "Date",
    "used": "How often used",
    "score": "Score for the question shown in Ask",
}
_LAYERS = ("Topics", "Questions", "Holes", "Near-duplicates")
_BUTTONS = ["lasso2d", "select2d", "pan2d", "zoom2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]
Stamp = tuple[str, tuple[str, str, int], Standing]
"""The library's folder, what its documents and its runs are: another as soon as the map may be another."""


def show(session: Session, held: Sequence[Held]) -> None:
    """The map, its choices, and what is selected on it. Raises CragError."""
    found = _current(session, held)
    if found is None:
        return
    stamp = _stamp(session.library)
    mark = _mark(found)
    chunks = _chunks(stamp, mark, _library=session.library, _found=found)
    if len(chunks.numbers) < 3:
        st.caption(f"The library has {words.count(len(chunks.numbers), 'chunk')}: a map is useful from three on.")
    colour, wanted = _choices(session)
    questions = projection.past_questions(session.library, found)
    holes = [each for each in questions if each.hole]
    drawn = Layers(
        questions=questions if "Questions" in wanted else (),
        holes=holes if "Holes" in wanted else (),
        duplicates=found.pairs if "Near-duplicates" in wanted else None,
        titles="Topics" in wanted,
    )
    theme = charts.current_theme()
    key = (stamp, mark, colour, tuple(wanted), theme, tab.runs().selected)
    figure = _figure(key, _draw=lambda: draw(chunks, _shade(session, colour, chunks, held), drawn, theme))
    if presentation.wanted():
        slides = _slides(session, chunks, questions, holes)
        presentation.show(show_drawn(slides, _TITLE, "", name="map", app=True))
        with presentation.lay_over():
            charts.presented(figure, "documents-map-presented")
        return
    st.plotly_chart(
        figure,
        theme=None,
        key=_KEY,
        on_select=_select,
        selection_mode=["lasso", "box", "points"],
        config={"displaylogo": False, "modeBarButtons": [_BUTTONS], "displayModeBar": True},
        alt=f"A map of {words.count(len(chunks.numbers), 'chunk')} and {words.count(len(questions), 'question')}",
    )
    _notes(chunks, questions, sum(each.document.chunks for each in held))
    _selected(session, chunks, questions)
    if "Holes" in wanted and holes:
        _list_holes(session, holes)
    if "Near-duplicates" in wanted:
        _list_pairs(session, chunks, found.pairs.tolist())


def _slides(
    session: Session, chunks: Chunks, questions: Sequence[projection.Question], holes: Sequence[projection.Question]
) -> list[DrawnSlide]:
    """The map, and after it the questions that nothing in the library is near to."""
    documents = words.count(len(np.unique(chunks.documents)), "document")
    said = [f"{words.count(len(chunks.numbers), 'chunk')} of {documents}"]
    said += [words.count(len(questions), "past question")] if questions else []
    slides = [DrawnSlide(step=_TITLE, says=f"{' and '.join(said)}: near points say similar things.", charted=True)]
    if holes:
        rows = [(each.text, _answered_by(session, each) or "No web page answered it.") for each in holes]
        said = [words.count(len(holes), "question"), "is" if len(holes) == 1 else "are"]
        slides.append(
            DrawnSlide(
                step="Holes",
                says=f"{' '.join(said)} far from every chunk, and not answered from the library.",
                picture=list_reasons(rows, "question"),
            )
        )
    return slides


def _answered_by(session: Session, question: projection.Question) -> str:
    pages = projection.web_pages(session.library, question)
    return f"Answered by: {', '.join(page.title or site(page.url) for page in pages)}" if pages else ""


def draw_run(session: Session, trace: Trace) -> tuple[DrawnSlide, Figure] | None:
    """Where a run's question lies on the map, with the chunks' scores; None where no map of the library is kept."""
    kept = projection.load(session.library)
    if kept is None or kept.changed(session.library) or trace.elsewhere:
        return None
    stamp = _stamp(session.library)
    found = _refreshed(stamp, _library=session.library)
    chunks = _chunks(stamp, _mark(found), _library=session.library, _found=found)
    asked = [each for each in projection.past_questions(session.library, found) if each.text == trace.question]
    shade = _shade_by_score(chunks, projection.scores(session.library, trace))
    number = words.count(len(chunks.numbers), "chunk")
    said = f"The question among {number}, those that were graded coloured by their scores."
    slide = DrawnSlide(step="Map", says=said, charted=True)
    return slide, draw(chunks, shade, Layers(questions=asked), charts.current_theme())


def _mark(found: Projection) -> tuple[int, int]:
    """Another one as soon as a point or a question lies elsewhere."""
    return zlib.crc32(found.points.tobytes()), zlib.crc32(found.asked.tobytes())


def _stamp(library: Library) -> Stamp:
    return str(library.folder), library.documents.version(), library.facts.standing()


def _current(session: Session, held: Sequence[Held]) -> Projection | None:
    """The projection as the library is; of a large one the kept one, while a job brings it up to date."""
    library, stamp = session.library, _stamp(session.library)
    if sum(each.document.chunks for each in held) <= AT_ONCE:
        return _refreshed(stamp, _library=library)
    kept = projection.load(library)
    running: list[Job[Any]] = program().jobs.running(_JOB, workspace=session.workspace)
    job = running[0] if running else program().jobs.get(state().map_job, workspace=session.workspace)
    if not running and state().map_of != stamp:
        job = _begin(session) if kept is None or kept.changed(library) else None
        state().map_of, state().map_job = stamp, job.id if job else ""
    if job is not None and job.running:
        fragments.follow(session, lambda: job.running, lambda: _progress(job))
    elif job is not None and job.problem is not None:
        problems.show(job.problem)
        st.button("Try again", key="map-again", on_click=_forget_job)
    elif kept is not None:
        return _refreshed(stamp, _library=library)
    return kept


@remembered(show_spinner="Drawing the map…", max_entries=8)
def _refreshed(stamp: Stamp, *, _library: Library) -> Projection:
    return projection.refresh(_library)


def _begin(session: Session) -> Job[float]:
    engine, workspace = program().engine, session.workspace

    def work(cancel: threading.Event, emit: Callable[[float], None]) -> None:
        def progress(share: float) -> None:
            if cancel.is_set():
                raise CancelledError("The map was not finished.", "Open the map again.")
            emit(share)

        projection.refresh(engine.library(workspace), progress)

    return program().jobs.start(_JOB, "the map", work, workspace=workspace)


def _progress(job: Job[Any]) -> None:
    done = job.events()[-1:]
    st.progress(float(done[0]) if done else 0.0, "Bringing the map up to date…")


def _forget_job() -> None:
    state().map_of, state().map_job = None, ""


@remembered(show_spinner="Drawing the map…", max_entries=4)
def _chunks(stamp: Stamp, mark: tuple[int, int], *, _library: Library, _found: Projection) -> Chunks:
    return read_chunks(_library, _found)


@remembered(max_entries=8)
def _figure(key: tuple[object, ...], *, _draw: Callable[[], Figure]) -> Figure:
    return _draw()


def _choices(session: Session) -> tuple[str, Sequence[str]]:
    offered = [name for name in _COLOURS if name != "score" or tab.runs().selected]
    if st.session_state.get("map-colour") not in (None, *offered):
        del st.session_state["map-colour"]
    with st.container(key="map-choices", horizontal=True, vertical_alignment="bottom", gap="small"):
        colour = st.selectbox(
            "Colour by",
            offered,
            format_func=_COLOURS.__getitem__,
            key="map-colour",
            persist_state="session",
            width=240,
        )
        wanted = st.pills(
            "Show",
            _LAYERS,
            selection_mode="multi",
            default=["Topics", "Questions", "Holes"],
            key="map-layers",
            persist_state="session",
        )
        st.button("Present", key="map-present", on_click=presentation.enter, help="Shows the map full screen.")
    return colour, wanted


def _shade(session: Session, colour: str, chunks: Chunks, held: Sequence[Held]) -> Shade:
    library = session.library
    match colour:
        case "document":
            counts = Counter(chunks.documents.tolist())
            largest = [place for place, _ in counts.most_common(6)]
            group = {place: rank for rank, place in enumerate(largest)}
            values = np.array([group.get(place, -1) for place in chunks.documents.tolist()], float)
            return Shade(values=values, names=[chunks.names[place] for place in largest])
        case "age":
            days = projection.document_days(library, [each.document for each in held])
            ordinals = {id: date.fromisoformat(day).toordinal() for id, day in days.items()}
            values = np.array([ordinals.get(id, np.nan) for id in chunks.ids], float)[chunks.documents]
            low, high = min(ordinals.values()), max(ordinals.values())
            return Shade(values=values, label="date", low=low, high=max(high, low + 1), dates=True)
        case "used":
            values = _by_number(chunks, library.points.used(), 0.0)
            return Shade(values=values, label="runs that used it", high=max(1.0, values.max(initial=0)))
        case "score":
            return _shade_by_score(chunks, _scores(session))
        case _:
            return Shade(values=chunks.clusters.astype(float), names=chunks.titles)


def _shade_by_score(chunks: Chunks, scores: Mapping[int, float]) -> Shade:
    return Shade(values=_by_number(chunks, scores, np.nan), label="score")


def _scores(session: Session) -> Mapping[int, float]:
    """The scores of the question that Ask shows; none where its run is gone."""
    run = tab.runs().selected
    if run is None:
        return {}
    try:
        return projection.scores(session.library, session.trace(run))
    except CragError:
        return {}


def _by_number(chunks: Chunks, values: Mapping[int, float], other: float) -> NDArray[np.float64]:
    return np.array([values.get(number, other) for number in chunks.numbers.tolist()], float)


def _notes(chunks: Chunks, questions: Sequence[projection.Question], held: int) -> None:
    of = f" of {held:,}, evenly over all" if held > projection.MOST else ""
    said = f"{words.count(len(chunks.numbers), 'chunk')}{of}, {words.count(len(questions), 'past question')}."
    if len(chunks.numbers) > DRAWN:
        said += f" Points with details: {SAMPLED:,}, spread evenly. A selection takes all."
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


def _selected(session: Session, chunks: Chunks, questions: Sequence[projection.Question]) -> None:
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


def _describe(session: Session, chunks: Chunks, rows: NDArray[np.int64], asked: Sequence[projection.Question]) -> None:
    documents = Counter(chunks.documents[rows].tolist())
    ids = [chunks.ids[place] for place in documents]
    said = [words.count(len(rows), "chunk"), words.count(len(documents), "document")]
    heading = f"**Selected: {said[0]} of {said[1]}" + (f", {words.count(len(asked), 'question')}**" if asked else "**")
    st.markdown(heading)
    with st.container(horizontal=True, gap="small"):
        if ids:
            _offer_documents(session, ids)
        if asked:
            runs = frozenset(each.run for each in asked)
            st.button("Tune with these questions", key="map-tune", on_click=_pick, args=(runs, "tune"))
            st.button("Show them in Monitor", key="map-monitor", on_click=_pick, args=(runs, "monitor"))
        st.button("Clear", key="map-clear", type="tertiary", on_click=_clear)
    topics = Counter(chunks.clusters[rows].tolist())
    if named := [chunks.titles[cluster] for cluster, _ in topics.most_common(2) if chunks.titles[cluster]]:
        st.caption(f"Topics: {'; '.join(markdown(each) for each in named)}")
    lines = []
    for place, count in documents.most_common(_LISTED):
        own = chunks.numbers[rows[chunks.documents[rows] == place]].tolist()
        pages = sorted(set(session.library.points.pages(own).values()))
        lines.append(f"- **{markdown(chunks.names[place])}**: {words.count(count, 'chunk')}, {_pages(pages)}")
    if lines:
        st.markdown("\n".join(lines))
    if len(documents) > _LISTED:
        st.caption(f"And {len(documents) - _LISTED:,} more documents.")
    if len(rows) == 1:
        for text in session.library.points.texts(chunks.numbers[rows].tolist()).values():
            st.caption(f"“{markdown(excerpt(text, _FIRST))}”")
    _list_questions(session, asked)


def _offer_documents(session: Session, ids: Sequence[str]) -> None:
    many = len(ids) > _MOST_ASKED
    help = (
        f"At most {_MOST_ASKED} documents can be asked by themselves. Give them a tag and ask that."
        if many
        else "Your questions then search only these documents, until you choose Ask all in Ask."
    )
    if session.may("ask"):
        label = "Ask only this document" if len(ids) == 1 else "Ask only these documents"
        st.button(label, key="map-ask", type="primary", on_click=_ask, args=(session, ids), disabled=many, help=help)
    if session.may("edit"):
        clicks.button("Evaluate only them", "map-evaluate", _evaluate, session, ids, disabled=many, help=help)
    st.button("Select in the list", key="map-list", on_click=_list, args=(ids,))


def _pages(pages: Sequence[int]) -> str:
    """Pages in words, with runs joined: "p. 3–5, 9"."""
    spans: list[list[int]] = []
    for page in pages:
        if spans and page == spans[-1][1] + 1:
            spans[-1][1] = page
        else:
            spans.append([page, page])
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in spans[:_LISTED]]
    return f"p. {', '.join(shown)}{' …' if len(spans) > _LISTED else ''}"


@requires("ask")
def _ask(session: Session, ids: Sequence[str]) -> None:
    session.limit(Scope(tuple(ids)))
    navigation.go("ask")


@requires("edit")
def _evaluate(session: Session, ids: Sequence[str]) -> None:
    session.limit(Scope(tuple(ids)))
    st.session_state[EVALUATE_SCOPED] = True
    navigation.go("evaluate")


def _pick(runs: frozenset[str], page: str) -> None:
    """Let Tune and Monitor show these runs, and open one of the two."""
    state().picked = runs
    st.session_state[TUNE_RUNS], st.session_state[MONITOR_PICKED] = PICKED, True
    navigation.go(page)


def _list(ids: Sequence[str]) -> None:
    table.pick(ids)
    st.session_state[VIEW] = "list"


def _open(session: Session, run: str) -> None:
    session.visit(run)
    navigation.go("ask")


# ---- lists of what the layers show ---------------------------------------------------------------------------------


def _list_questions(session: Session, asked: Sequence[projection.Question]) -> None:
    with st.container(gap=None):
        for place, each in enumerate(asked[:_LISTED]):
            _question(session, each, f"map-open-{place}")
    if len(asked) > _LISTED:
        st.caption(f"And {len(asked) - _LISTED:,} more questions.")


def _question(session: Session, each: projection.Question, key: str) -> None:
    icon = words.ICONS.get(each.action, "")  # type: ignore[call-overload]
    label = markdown(excerpt(each.text, 110))
    st.button(f"{icon} {label}", key=key, type="tertiary", on_click=_open, args=(session, each.run))


def _list_holes(session: Session, holes: Sequence[projection.Question]) -> None:
    with st.expander(f"Holes: {words.count(len(holes), 'question')} that your documents did not answer"):
        for place, each in enumerate(holes[:_LISTED]):
            _question(session, each, f"map-hole-{place}")
            if said := _answered_by(session, each):
                st.caption(markdown(said))
        if len(holes) > _LISTED:
            st.caption(f"And {len(holes) - _LISTED:,} more.")


def _place(session: Session, chunks: Chunks, number: int) -> str:
    row = int(np.searchsorted(chunks.numbers, number))
    page = session.library.points.pages([number]).get(number, 0)
    return f"{markdown(chunks.names[int(chunks.documents[row])])}, p. {page}"


def _list_pairs(session: Session, chunks: Chunks, pairs: Sequence[Sequence[int]]) -> None:
    known = set(chunks.numbers.tolist())
    found = [pair for pair in pairs if known.issuperset(pair)]
    with st.expander(f"Near-duplicates: {words.count(len(found), 'pair')} of chunks"):
        if not found:
            st.caption("No two chunks in different places say nearly the same.")
        texts = session.library.points.texts([one for one, _ in found[:_LISTED]])
        for one, other in found[:_LISTED]:
            said = markdown(excerpt(texts.get(one, ""), _FIRST))
            st.markdown(f"- {_place(session, chunks, one)} and {_place(session, chunks, other)}: “{said}”")
        if len(found) > _LISTED:
            st.caption(f"And {len(found) - _LISTED:,} more, less alike.")
