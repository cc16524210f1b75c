"""The library as a person handles it: dropping files, the table, a document opened on its pages, delete, re-index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from crag.core.errors import CragError, ModelMismatchError
from crag.core.ingesting import Embedding
from crag.core.metadata import Fields
from crag.core.track import Track
from crag.core.types import Chunk, Document
from crag.ingest.media import ENDINGS, READERS
from crag.questions.tables import guarded
from ui.app.program import program
from ui.app.session import Session
from ui.documents import fields, purged, uploads
from ui.kit import html as h
from ui.kit import problems, words
from ui.kit.drawing import draw
from ui.kit.safe import excerpt, markdown
from ui.run import pageview, textview

_TURN, _KEPT = "documents-turn", "documents-kept"
_LEFT_OVER = 10
"""So many elements has the view at most."""


class LibraryView:
    """What the library holds, on the page: the table, and one document opened.

    Drawn anew as a job adds to it, in the one run of the script that follows the job; no widget may stand in that
    twice, so each drawing has keys of its own until the job is over, and the next takes up what was chosen.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._place, self._drawn = session, st.empty(), False

    def show(self, live: bool) -> None:
        """`live`: while something is added."""
        turn = st.session_state.get(_TURN, 0) + self._drawn
        self._drawn, st.session_state[_TURN] = True, turn
        with self._place.container(), problems.reported(stop=True):
            documents = self._session.library.documents.all()
            _warn_of_model(self._session, live)
            if documents:
                mark = f"-{turn}" if live else ""
                given = self._session.library.documents.given()
                _table(self._session, documents, given, mark)
                _open_one(self._session, documents, given, mark)
            elif live:
                for _ in range(_LEFT_OVER):
                    st.empty()  # what was deleted would otherwise stay until the job is over
            else:
                _empty(self._session)
            if not live:
                if documents:
                    purged.form(self._session)
                purged.show(self._session)


def drop_zone(session: Session) -> None:
    """Where files are dropped; a drop starts adding at once."""
    turn = st.session_state.setdefault("drop-turn", 0)
    with problems.reported():
        limit = min(program().config.max_file_mb, int(st.get_option("server.maxUploadSize")))
        dropped = st.file_uploader(
            f"Add documents, up to {limit} MB each",
            type=[ending for ending, media in ENDINGS.items() if media in READERS],
            accept_multiple_files=True,
            max_upload_size=limit,
            key=f"drop-{turn}",
        )
        if dropped:
            files: list[tuple[str, Callable[[], bytes]]] = [(file.name, uploads.reader(file)) for file in dropped]
            uploads.start(session, files, words.count(len(files), "file"))
            st.session_state["drop-turn"] = turn + 1
            st.rerun()


def _empty(session: Session) -> None:
    draw(h.div("cx hero")[h.p["The library is empty. Drop documents above, or begin with the sample."]])
    if st.button("Load the sample library", key="sample", type="primary"):
        with problems.reported():
            uploads.load_sample(session)
            st.rerun()


def _warn_of_model(session: Session, live: bool) -> None:
    """Where the vectors were made by another embedding model: say so, and offer to make them anew."""
    try:
        session.library.check_model()
    except ModelMismatchError as error:
        problems.show(error)
        if not live:
            again = "Re-index the whole library"
            st.button(again, key="reindex-all", type="primary", on_click=_reindex, args=(session,))
    except CragError as error:
        problems.show(error)


def _reindex(session: Session) -> None:
    engine, workspace = program().engine, session.workspace

    def work(cancel: threading.Event, emit: Callable[[Embedding], None]) -> None:
        engine.library(workspace).reindex(
            on_progress=lambda done, total: emit(Embedding(name="The library", done=done, total=total)), cancel=cancel
        )

    st.session_state.upload = program().jobs.start("upload", "re-indexing the library", work, workspace=workspace).id


def _table(session: Session, documents: Sequence[Document], given: Mapping[str, Fields], mark: str) -> None:
    """The documents; a click opens one. Texts are guarded, for the table's own menu copies and downloads its cells."""
    tracks, stale = session.library.documents.tracks(), program().engine.stale(session.workspace)
    rows = [
        {
            "Document": guarded(document.name),
            "Title": guarded(document.title),
            "Size": words.size(document.size),
            "Pages": document.pages,
            "Chunks": document.chunks,
            "Added": words.ago(document.added_at),
            **({"Fields": guarded(fields.line(given.get(document.id, {})))} if given else {}),
            "Model": guarded(document.model),
            "Used": tracks[document.id].used if document.id in tracks else 0,
            "Notes": guarded(" ".join([*stale.get(document.id, ()), *document.warnings])),
        }
        for document in documents
    ]
    st.subheader(words.count(len(documents), "document"), anchor=False)
    chosen = st.dataframe(
        rows,
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=f"documents{mark}",
        alt="The documents of the library",
    )
    picked = chosen.selection.rows if chosen else []
    if picked and picked[0] < len(documents):
        st.session_state.document = documents[picked[0]].id
    with st.container(horizontal=True):
        st.button(
            "Re-index all",
            key=f"reindex{mark}",
            on_click=_reindex,
            args=(session,),
            help="Makes every vector anew. Questions go on.",
        )


def _open_one(session: Session, documents: Sequence[Document], given: Mapping[str, Fields], mark: str) -> None:
    """One document: its chunks on its pages."""
    ids = [document.id for document in documents]
    by_id = dict(zip(ids, documents, strict=True))
    wanted = st.session_state.get("document")
    st.subheader("Pages and chunks", anchor=False)
    which, leaf, facts = st.columns([5, 2, 6], gap="medium", vertical_alignment="bottom")
    first = wanted if wanted in ids else ""
    key = _carried(f"open-{first}", mark, first or ids[0])
    if st.session_state[key] not in ids:
        st.session_state[key] = first or ids[0]
    document = by_id[which.selectbox("Open a document", ids, format_func=lambda id: by_id[id].name, key=key)]
    with problems.reported():
        with facts, st.container(horizontal=True):
            fields.edit(session, document, given.get(document.id, {}), mark)
            _delete(session, document, mark)
        with leaf:
            key = _carried(f"page-{document.id}", mark, 1)
            page = int(st.number_input("Page", min_value=1, max_value=max(1, document.pages), key=key))
        stored = session.library.documents
        _page(session, document, page, stored.chunks(document.id), stored.chunk_tracks(document.id))


def _carried(name: str, mark: str, first: Any) -> str:
    """The key of a widget in this drawing, which takes up what was chosen in the one before, or else `first`."""
    keys: dict[str, str] = st.session_state.setdefault(_KEPT, {})
    key, before = name + mark, keys.get(name, name)
    if key != before or key not in st.session_state:
        st.session_state[key] = st.session_state.get(before, first)
    keys[name] = key
    return key


def _page(
    session: Session, document: Document, page: int, chunks: Sequence[Chunk], tracks: Mapping[str, Track]
) -> None:
    here = [chunk for chunk in chunks if chunk.page == page]
    left, right = st.columns([1, 1], gap="large")
    with left, problems.reported():
        alone = [chunk for chunk in here if chunk.id == st.session_state.get("marked")]
        if document.kind not in textview.DRAWN:
            with st.container(key="page-text"):
                draw(h.div("cx")[textview.leaf(here, [(chunk.start, chunk.end) for chunk in alone])])
        else:
            rects = [rect for chunk in alone or here for rect in chunk.rects() if rect.page == page]
            st.image(pageview.image(session.library, document.id, page, rects), width="stretch")
    with right:
        cards = [
            h.details(data_keep=chunk.id)[
                h.summary[
                    h.span("rank num")[chunk.ordinal + 1],
                    h.span("where")[h.span("name")[excerpt(chunk.text, 140)]],
                    h.span("small")[words.count(len(chunk.text), "character")],
                ],
                h.div("body")[
                    h.div("text")[chunk.text],
                    h.div("facts")[
                        h.span[f"{chunk.kind}, indexed with: {chunk.context or 'nothing else'}"],
                        h.span[_record(tracks.get(chunk.id))],
                        h.button("more", data_pick=f"mark:{chunk.id}")["Mark only this one"],
                    ],
                ],
            ]
            for chunk in here
        ]
        shown = h.div("cards ordinals")[cards] if cards else h.p["No text was found on this page."]
        heading = f"{words.count(len(here), 'chunk')} on page {page} of {document.pages}"
        draw(h.div("cx")[h.h3[heading, h.span("small")[document.title]], shown])


def _record(track: Track | None) -> str:
    """What runs said of a chunk."""
    if track is None:
        return "never retrieved"
    said = f"retrieved {words.count(track.retrieved, 'time')}, used {words.count(track.used, 'time')}"
    if track.mean_score is not None and track.last_score is not None:
        said += f", mean score {track.mean_score:.2f}, last {track.last_score:.2f}"
    return f"{said}, last in a run that ended {track.last_action}" if track.last_action else said


def mark(picked: str) -> None:
    """Mark one chunk alone on its page, or all of them again."""
    kind, _, chunk = picked.partition(":")
    if kind == "mark":
        st.session_state.marked = None if st.session_state.get("marked") == chunk else chunk


def _delete(session: Session, document: Document, mark: str) -> None:
    with st.popover("Delete document"):
        st.markdown(f"Delete **{markdown(document.name)}** with its {words.count(document.chunks, 'chunk')}?")
        if st.button("Delete", key=f"delete-{document.id}{mark}", type="primary"):
            with problems.reported():
                session.library.documents.delete(document.id)
                st.session_state.pop("document", None)
                st.rerun()
