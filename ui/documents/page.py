"""The library as a person handles it: what is chosen of it, the table, and what is done with the rows selected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import streamlit as st

from crag.core.errors import CragError, ModelMismatchError
from crag.core.metadata import written_field
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import markdown
from ui.app import guide
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import charts, forms, problems
from ui.components.drawing import draw
from ui.documents import bulk_actions, contents, filters, map_view, table, uploads
from ui.documents.listing import Held, holdings
from ui.documents.progress import UploadEvent


def show(session: Session, *, live: bool) -> None:
    """What the library holds: what to choose, the table, and what is selected in it. `live`: while a job changes it."""
    with problems.reported():
        if not live:
            _warn_of_model(session)
            _continue_embedding(session)
        held = holdings(session)
        if held and _view() == "map":
            map_view.show(session, held)
            return
        shown: Sequence[Held] = held
        if held:
            heading = st.container()
            shown = filters.chosen(held, filters.choose(held))
            many = words.count(len(held), "document")
            said = many if len(shown) == len(held) else f"{len(shown):,} of {many}"
            with heading:
                st.header(said, anchor=False)
        _rows(session, held, shown)
        if sum(each.document.chunks for each in held) > map_view.AT_ONCE:
            charts.load_early()  # the map of a large library takes long enough by itself
        if not live:
            _end(session, bool(held))


def _view() -> str:
    """How the library is shown."""
    return forms.one_of("View", {"list": "List", "map": "Map"}, map_view.VIEW)


def _rows(session: Session, held: Sequence[Held], shown: Sequence[Held]) -> None:
    """The table, what can be done with what is selected in it, and the document where it is one."""
    if len(shown) == 1:
        table.pick([shown[0].document.id])
    bar = st.container()
    if shown:
        table.show(shown)
    elif held:
        draw(h.div("cx")[h.p("quiet")["No documents match your filters."]])
    wanted = set(table.picked())
    selected = [each for each in shown if each.document.id in wanted]
    if shown:
        tags = sorted({tag for each in held for tag in each.tags}, key=str.casefold)
        with bar:
            bulk_actions.bar(session, selected, shown, tags)
    if len(selected) == 1:
        _document(session, selected[0])


def _end(session: Session, any_held: bool) -> None:
    if not any_held:
        _empty(session)
    elif session.may("edit"):
        again = "Makes every vector again. Until then, documents are found by their words."
        st.button("Re-index all", key="reindex", on_click=once(_embed), args=(session, True), help=again)


def _empty(session: Session) -> None:
    guide.empty(session, "The library is empty. Drop documents above, or start with the sample.")
    if session.may("edit") and st.button("Load the sample library", key="sample", type="primary"):
        with problems.reported():
            uploads.load_sample(session)
            st.rerun()


def _warn_of_model(session: Session) -> None:
    """Where the vectors were made by another embedding model: say so, and offer to make them again."""
    try:
        session.library.check_model()
    except ModelMismatchError as error:
        problems.show(error)
        again = "Re-index the whole library"
        if session.may("edit"):
            st.button(again, key="reindex-all", type="primary", on_click=once(_embed), args=(session, True))
    except CragError as error:
        problems.show(error)


def _continue_embedding(session: Session) -> None:
    """Make the vectors that were not made because the program ended; where it failed or was stopped, offer to."""
    waiting = session.library.unembedded.standing()
    if not waiting or not session.may("edit"):
        return
    why = next((each.why for each in waiting.values() if each.why), "")
    if not why:
        _embed(session)
        st.rerun()
    many = words.count(len(waiting), "document")
    st.warning(markdown(f"{many} can be found by words alone: {why}"))
    st.button("Make the missing vectors", key="embed-missing", on_click=once(_embed), args=(session,))


@requires("edit")
def _embed(session: Session, every: bool = False) -> None:
    engine, workspace = program().engine, session.workspace

    def embedded(cancel: threading.Event) -> Iterator[UploadEvent]:
        if every:
            engine.library(workspace).unembedded.forget_vectors()
        yield from engine.embed_missing(workspace, cancel)

    uploads.index(session, "re-indexing the library" if every else "making vectors", (), embedded)


_VIEWS: Mapping[str, tuple[str, Callable[[Session, Held], None]]] = {
    "pages": ("Pages and chunks", contents.pages),
    "tables": ("Tables", contents.tables),
}


def _document(session: Session, held: Held) -> None:
    """Raises CragError."""
    st.header(markdown(held.document.name), anchor=False)
    _facts(held)
    titles = {name: title for name, (title, _) in _VIEWS.items()}
    _VIEWS[forms.one_of("What to look at", titles, contents.VIEW)][1](session, held)


def _fetched(held: Held) -> str:
    """Of a web page: when it was had, and when its address was looked at, where that is not the same."""
    document = held.document
    facts = [
        document.fetched_at and f"fetched {words.ago(document.fetched_at)}",
        document.looked_at != document.fetched_at and f"looked at {words.ago(document.looked_at)}",
        document.published and f"published {document.published}",
    ]
    return "".join(f", {each}" for each in facts if each)


def _facts(held: Held) -> None:
    document = held.document
    facts = [
        words.kind(held.kind),
        words.count(document.pages, "page"),
        words.count(document.chunks, "chunk"),
        words.format_size(document.size),
        f"added {words.ago(document.added_at)}, in {words.format_duration(document.seconds)}",
        f"cited in answers to {words.count(held.cited, 'question')}",
        f"indexed by {document.model}",
    ]
    with st.container(gap="small"):
        st.markdown(f"**{markdown(document.title)}**")
        st.caption(markdown(" · ".join(facts)))
        if document.url:
            address = h.a(href=document.url, target="_blank", rel="noopener noreferrer")[document.url]
            draw(h.div("cx small")[address, _fetched(held)])
        if held.given:
            given = (written_field(name, value) for name, value in held.given.items())
            st.markdown(" ".join(f":gray-badge[{markdown(each)}]" for each in given))
        for each in held.problems:
            st.warning(markdown(each))
