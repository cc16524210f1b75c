"""Web pages as documents: added by their addresses, and fetched again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import streamlit as st

from ui.app.program import program
from ui.app.session import Session
from ui.documents import uploads
from ui.documents.holdings import Held
from ui.documents.progress import FilesChosen, UploadEvent
from ui.kit import problems, words

_TYPED = "page-addresses"


def box(session: Session) -> None:
    """Where addresses are typed or pasted, one a line; a click fetches them."""
    with st.form("add-pages", border=True, clear_on_submit=True):
        typed = st.text_area(
            "Add web pages",
            key=_TYPED,
            height=110,
            placeholder="https://example.org/report\nhttps://example.org/help",
            help="One address a line. Each is fetched now, by this program, and read as what it is: a page, a PDF, a "
            "text. Scripts are not run.",
        )
        if st.form_submit_button("Fetch and add", type="primary"):
            addresses = list(dict.fromkeys(line.strip() for line in typed.splitlines() if line.strip()))
            if addresses:
                with problems.reported():
                    _add(session, addresses)
                    st.rerun()


def again_button(session: Session, selected: Sequence[Held]) -> None:
    """Fetches the selected documents that are from the web again; nothing where none is."""
    found = [held.document for held in selected if held.document.url]
    if not found:
        return
    st.button(
        "Fetch again" if len(found) == len(selected) else f"Fetch {words.count(len(found), 'web page')} again",
        key="documents-again",
        on_click=_again,
        args=(session, [document.id for document in found], [document.name for document in found]),
        help="Looks whether the page has changed. A changed one takes the place of this text.",
    )


def _add(session: Session, addresses: Sequence[str]) -> None:
    engine, workspace = program().engine, session.workspace

    def work(cancel: threading.Event, emit: Callable[[UploadEvent], None]) -> None:
        emit(FilesChosen(names=tuple(addresses)))
        for event in engine.pages.add(addresses, workspace, cancel=cancel):
            emit(event)

    uploads.begin(session, words.count(len(addresses), "web page"), work)


def _again(session: Session, ids: Sequence[str], names: Sequence[str]) -> None:
    engine, workspace = program().engine, session.workspace

    def work(cancel: threading.Event, emit: Callable[[UploadEvent], None]) -> None:
        emit(FilesChosen(names=tuple(names)))
        for event in engine.pages.refresh(workspace, ids, cancel=cancel):
            emit(event)

    uploads.begin(session, words.count(len(ids), "web page"), work)
