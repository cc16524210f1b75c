"""Web pages kept as documents, beside a run: marks of those that are, and buttons for those that can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crag.core.types import Chunk, Citation
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt, link, site
from crag.messages.wording import web_origin


@dataclass(frozen=True, slots=True)
class SavedPages:
    """What of a run is a document by now. `pages`: the web pages that its answer used, by id: the name of the document
    that each is, empty for none. `unverified`: the ids of kept documents that nobody has verified yet; `verified`: of
    those that were not when the run found them, and are now."""

    pages: Mapping[str, str] = field(default_factory=dict)
    unverified: frozenset[str] = frozenset()
    verified: frozenset[str] = frozenset()


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
