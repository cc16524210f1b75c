"""The library as a person handles it: what is chosen of it, the table, and what is done with the rows selected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import streamlit as st

from crag.core.errors import CragError, ModelMismatchError
from crag.core.ingesting import Embedding
from ui.app import guide
from ui.app.clicks import requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import html as h
from ui.components import problems, words
from ui.components.drawing import draw, keep_places
from ui.documents import bulk_actions, document, filters, purged, table, uploads
from ui.documents.listing import Held, holdings
from ui.documents.progress import UploadEvent

_LEFT_OVER = 10
"""So many elements has what is drawn of a selection at most."""


class LibraryView:
    """What the library holds, on the page: what to choose, the table, and what is selected in it.

    Its places are taken where it is made; it is drawn once in a run of the script.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._model, self._heading, self._choices, self._bar = (st.empty() for _ in range(4))
        self._rows, self._panel, self._foot = (st.empty() for _ in range(3))

    def show(self, live: bool) -> None:
        """`live`: while something is added."""
        with problems.reported(stop=True):
            held = holdings(self._session)
            choice = filters.Choice()
            if held:
                with self._choices.container(key="documents-choices"):
                    choice = filters.choose(held)
            shown = filters.chosen(held, choice)
            self._show_table(held, shown)
            self._open(held, shown, live)
            if not live:
                with self._model.container():
                    _warn_of_model(self._session)
                with self._foot.container():
                    self._end(bool(held))

    def _show_table(self, held: Sequence[Held], shown: Sequence[Held]) -> None:
        many = words.count(len(held), "document")
        said = many if len(shown) == len(held) else f"{len(shown):,} of {many}"
        draw(h.div("cx")[h.h2("held")[said]] if held else None, self._heading)
        if len(shown) == 1 and not table.picked():
            table.pick([shown[0].document.id])
        if shown:
            table.show(shown, self._rows)
        elif held:
            draw(h.div("cx")[h.p("quiet")["No document is like that: take a word or a choice away."]], self._rows)
        else:
            self._rows.empty()

    def _open(self, held: Sequence[Held], shown: Sequence[Held], live: bool) -> None:
        """What can be done with what is selected, and the document where it is one."""
        wanted = set(table.picked())
        selected = [each for each in shown if each.document.id in wanted]
        with self._bar.container():
            if shown:
                tags = sorted({tag for each in held for tag in each.tags}, key=str.casefold)
                bulk_actions.bar(self._session, selected, shown, tags)
            keep_places(_LEFT_OVER if live else 0)
        with self._panel.container():
            if len(selected) == 1:
                document.show(self._session, selected[0])
            keep_places(_LEFT_OVER if live else 0)

    def _end(self, any_held: bool) -> None:
        if not any_held:
            _empty(self._session)
        elif self._session.may("edit"):
            again = "Makes every vector anew. Questions go on."
            st.button("Re-index all", key="reindex", on_click=_reindex, args=(self._session,), help=again)
            purged.form(self._session)
        purged.show(self._session)


def _empty(session: Session) -> None:
    if guide.stuck(session):
        guide.show(session)
        return
    draw(h.div("cx hero")[h.p["The library is empty. Drop documents above, or begin with the sample."]])
    if st.button("Load the sample library", key="sample", type="primary"):
        with problems.reported():
            uploads.load_sample(session)
            st.rerun()


def _warn_of_model(session: Session) -> None:
    """Where the vectors were made by another embedding model: say so, and offer to make them anew."""
    try:
        session.library.check_model()
    except ModelMismatchError as error:
        problems.show(error)
        again = "Re-index the whole library"
        if session.may("edit"):
            st.button(again, key="reindex-all", type="primary", on_click=_reindex, args=(session,))
    except CragError as error:
        problems.show(error)


@requires("edit")
def _reindex(session: Session) -> None:
    engine, workspace = program().engine, session.workspace

    def work(cancel: threading.Event, emit: Callable[[UploadEvent], None]) -> None:
        engine.library(workspace).reindex(
            on_progress=lambda done, total: emit(Embedding(name="The library", done=done, total=total)), cancel=cancel
        )

    uploads.begin(session, "re-indexing the library", work)
