"""Web pages kept as documents, beside a run: what can be kept with one click, and a person's word that one is right."""

from __future__ import annotations

import streamlit as st

from crag.analysis.kept_pages import KeptPage, find_page, in_library, keep, used_pages
from crag.core.errors import NotFoundError
from crag.core.trace import Trace
from crag.core.types import Chunk
from crag.export.html.marks import SavedPages
from crag.export.html.safe_text import markdown
from crag.messages.documents import kept_sentence
from ui.app.program import program
from ui.app.session import Session


def saved_pages_of(session: Session, trace: Trace) -> SavedPages:
    """How it stands with the pages that a finished run used. Raises CragError."""
    used = used_pages(trace)
    kept = in_library(used, session.library) if used else {}
    found = {chunk.document_id: chunk.from_web for chunk in trace.sources.values() if isinstance(chunk, Chunk)}
    wanted = [id for id, from_web in found.items() if from_web]
    stored = session.library.documents
    fields = {id: stored.fields(id) for id in stored.names(wanted)} if wanted else {}
    verified = {id for id in fields if fields[id].get("verified") is True}
    return SavedPages(
        {page.id: kept[page.id].name if page.id in kept else "" for page in used},
        unverified=frozenset(fields.keys() - verified),
        verified=frozenset(id for id in verified if found[id] == "unverified"),
    )


def follow(session: Session, trace: Trace, picked: str) -> None:
    """Keep a page or verify a document, as `keeper` and `verifier` drew it, and say what came of it.

    Raises CragError.
    """
    session.require("edit")
    kind, _, id = picked.partition(":")
    if kind == "keep":
        announce(kept(session, trace, id))
        return
    if not any(isinstance(each, Chunk) and each.from_web and each.document_id == id for each in trace.sources.values()):
        raise NotFoundError("This run has no such document.", "Choose one of the sources listed.")
    session.library.documents.describe(id, {"verified": True})
    st.toast("Verified. The next answer that cites it says so.")


def kept(session: Session, trace: Trace, page: str) -> KeptPage:
    """Keep a page of a run, by its id. Raises CragError."""
    session.require("edit")
    found = find_page(trace, page)
    engine = program().engine
    with st.spinner("Keeping…"):  # it waits for its turn while files are read
        return keep(found, trace.meant, session.library, engine)


def announce(page: KeptPage) -> None:
    """Say what came of keeping a page."""
    st.toast(markdown(kept_sentence(page)))
