"""Web pages as documents: added by their addresses, and fetched again."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.core.metadata import kept_from_web
from ui.app.clicks import once, requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems, words
from ui.documents import uploads
from ui.documents.listing import Held

_TYPED = "page-addresses"


def box(session: Session) -> None:
    """Where addresses are typed or pasted, one a line; a click fetches them."""
    with st.form("add-pages", border=True, clear_on_submit=True):
        typed = st.text_area(
            "Add web pages",
            key=_TYPED,
            height=110,
            placeholder="https://example.org/report\nhttps://example.org/help",
            help="One address per line. CRAG Explorer fetches each now and reads it as a page, a PDF or text. "
            "Scripts are not run.",
        )
        if st.form_submit_button("Fetch and add", type="primary"):
            addresses = list(dict.fromkeys(line.strip() for line in typed.splitlines() if line.strip()))
            if addresses:
                with problems.reported():
                    _add(session, addresses)
                    st.rerun()


def again_button(session: Session, selected: Sequence[Held]) -> None:
    """Fetches the selected documents that are what stands at an address again; nothing where none is."""
    found = [held.document for held in selected if held.document.url and not kept_from_web(held.given)]
    if not found:
        return
    st.button(
        "Fetch again" if len(found) == len(selected) else f"Fetch {words.count(len(found), 'web page')} again",
        key="documents-again",
        on_click=once(_again),
        args=(session, [document.id for document in found], [document.name for document in found]),
        help="Checks whether the page has changed, and replaces this text if it has.",
    )


def _add(session: Session, addresses: Sequence[str]) -> None:
    pages, workspace = program().engine.pages, session.workspace
    label = words.count(len(addresses), "web page")
    uploads.index(session, label, addresses, lambda cancel: pages.add(addresses, workspace, cancel=cancel))


@requires("edit")
def _again(session: Session, ids: Sequence[str], names: Sequence[str]) -> None:
    pages, workspace = program().engine.pages, session.workspace
    label = words.count(len(ids), "web page")
    uploads.index(session, label, names, lambda cancel: pages.refresh(workspace, ids, cancel=cancel))
