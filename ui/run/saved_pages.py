"""Web pages kept as documents, beside a run: what can be kept with one click, and a person's word that one is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from crag.analysis.gaps import KeptPage, in_library, keep, pages_named, used_pages, verify
from crag.core.errors import NotFoundError
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation
from crag.messages.documents import kept_sentence
from crag.messages.wording import web_origin
from ui.app.program import program
from ui.app.session import Session
from ui.components import html as h
from ui.components import words
from ui.components.html import Html
from ui.components.safe_text import excerpt, link, markdown, site


@dataclass(frozen=True, slots=True)
class SavedPages:
    """What of a run is a document by now. `pages`: the web pages that its answer used, by id: the name of the document
    that each is, empty for none. `unverified`: the ids of kept documents that nobody has verified yet; `verified`: of
    those that were not when the run found them, and are now."""

    pages: Mapping[str, str] = field(default_factory=dict)
    unverified: frozenset[str] = frozenset()
    verified: frozenset[str] = frozenset()


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


def keeper(page: str, saved: SavedPages | None) -> Html:
    """The button that keeps a page, by its id, or what it is kept as; nothing of a page that was not used."""
    if saved is None or page not in saved.pages:
        return Html()
    if name := saved.pages[page]:
        return h.span("kept")[f"✓ Kept as {excerpt(name, 60)}"]
    said = "Saves this page as a document, so that your documents can answer next time. It stays unverified."
    return h.button("more", data_pick=f"keep:{page}", title=said)["Keep as a document"]


def verifier(document: str, saved: SavedPages | None) -> Html:
    """The button by which a person says that a kept page is right; nothing where that is said, or can't be here."""
    if saved is not None and document in saved.verified:
        return h.span("kept")["✓ Verified since"]
    if saved is None or document not in saved.unverified:
        return Html()
    said = "Confirms that you have checked this page and found it right."
    return h.button("more", data_pick=f"verify:{document}", title=said)["Mark as verified"]


def origin(source: Chunk | Citation) -> Html:
    """That a document is a page kept from the web, and from where; nothing of any other."""
    if not source.from_web:
        return Html()
    address = source.url or ""
    where = (
        h.a(href=address, target="_blank", rel="noopener noreferrer")[site(address)]
        if link(address)
        else excerpt(site(address), 60)
    )
    return h.fragment(f"{words.sentence(web_origin(source.from_web)).rstrip('.')}, ", where)


def tag(source: Chunk | Citation) -> Html:
    """The mark of a page that was kept from the web; nothing of any other document."""
    return h.span("tag web", title=web_origin(source.from_web))["WEB, KEPT"] if source.from_web else Html()


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
    verify(session.library, id)
    st.toast("Verified. The next answer that cites it says so.")


def kept(session: Session, trace: Trace, page: str) -> KeptPage:
    """Keep a page of a run, by its id. Raises CragError."""
    session.require("edit")
    (found,) = pages_named(trace, page)
    engine = program().engine
    with st.spinner("Keeping…"):  # it waits for its turn while files are read
        return keep(found, trace.meant, session.library, engine)


def announce(page: KeptPage) -> None:
    """Say what came of keeping a page."""
    st.toast(markdown(kept_sentence(page)))
