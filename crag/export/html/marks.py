"""What a run's texts are marked with: kept from the web, rated, out of date; and a query that waits for approval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from crag.core.trace import Approval, Trace
from crag.core.types import Chunk, Citation, RetrievedChunk
from crag.engine import Engine
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.safe_text import excerpt, link, site
from crag.messages.documents import stale_sentences
from crag.messages.wording import web_origin
from crag.providers.registry import title


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
        return h.span("quiet")[f"✓ Kept as {excerpt(name, 60)}"]
    said = "Saves this page as a document, so that your documents can answer next time. It stays unverified."
    return h.button("more", data_pick=f"keep:{page}", title=said)["Keep as a document"]


def verifier(document: str, saved: SavedPages | None) -> Html:
    """The button by which a person says that a kept page is right; nothing where that is said, or can't be here."""
    if saved is not None and document in saved.verified:
        return h.span("quiet")["✓ Verified since"]
    if saved is None or document not in saved.unverified:
        return Html()
    said = "Confirms that you have checked this page and found it right."
    return h.button("more", data_pick=f"verify:{document}", title=said)["Mark as verified"]


def opener(url: str) -> Html:
    """A link that opens a page of the web in a new tab; nothing for an address that is none."""
    return _lead(url, f"Open {site(url)} in a new tab") if link(url) else Html()


def origin(source: Chunk | Citation) -> Html:
    """That a document is a page kept from the web, and from where; nothing of any other."""
    if not source.from_web:
        return Html()
    address = source.url or ""
    where = _lead(address, site(address)) if link(address) else excerpt(site(address), 60)
    return h.fragment(f"{words.sentence(web_origin(source.from_web)).rstrip('.')}, ", where)


def _lead(url: str, said: str) -> Html:
    return h.a(href=url, target="_blank", rel="noopener noreferrer")[said]


WEB = h.span("tag web")["WEB"]
"""The mark of a source from the web."""


def tag(source: Chunk | Citation) -> Html:
    """The mark of a source from the web, and of a page that was kept from it; nothing of any other document."""
    if isinstance(source, Citation) and source.origin == "external":
        return WEB
    return h.span("tag web", title=web_origin(source.from_web))["WEB, KEPT"] if source.from_web else Html()


RATINGS: dict[Literal["relevant", "irrelevant"], str] = {"relevant": "Relevant", "irrelevant": "Not relevant"}


def rating_buttons(found: RetrievedChunk, labels: Mapping[str, str]) -> Html:
    """Relevant and not relevant, the one that was chosen pressed; drawn by the app's font of icons."""
    chunk, held = found.chunk, labels.get(found.chunk.id)
    drawn = [
        h.button(
            f"thumb {label}",
            data_pick=f"label:{label}:{chunk.id}",
            aria_pressed="true" if held == label else "false",
            title=_help(word, held == label),
            aria_label=f"{word} for this question: chunk {found.rank}, {chunk.where}",
        )["thumb_up" if label == "relevant" else "thumb_down"]
        for label, word in RATINGS.items()
    ]
    return h.span("thumbs", role="group", aria_label=f"Your rating of chunk {found.rank}")[drawn]


def _help(word: str, held: bool) -> str:
    return f"You rated it {word.lower()}. Click to undo." if held else f"{word} for this question"


Stale = Mapping[str, Sequence[str]]
"""What is out of date of documents, in sentences, by the document's id."""


def find_stale(engine: Engine, workspace: str | Path, trace: Trace) -> Stale:
    """What is out of date by now of all documents that the run found. Raises CragError."""
    ids = {each.document_id for each in trace.sources.values() if isinstance(each, Chunk) and not each.elsewhere}
    return stale_sentences(engine.stale(workspace, sorted(ids))) if ids else {}


def stale_note(trace: Trace, stale: Stale) -> Html:
    """Which of the documents that the answer rests on are out of date; nothing where none is."""
    names = {each.document_id: each.source for each in trace.sources.values() if isinstance(each, Chunk)}
    lines = [
        h.div("note")[h.b["Out of date: ", names[id], "."], " ", " ".join(stale[id])]
        for id in trace.documents
        if id in stale
    ]
    return h.div("cx")[lines] if lines else Html()


def pending_question(trace: Trace) -> int:
    """The number, from 1, of the question that the run waits with; 0 where it waits with none."""
    return len(trace.approvals) if trace.awaiting else 0


def approval_card(trace: Trace, *, sending: bool = False) -> Html:
    """The query that waits, exactly, and for whom; nothing where none waits. `sending`: the word was given."""
    asked = trace.awaiting
    if asked is None:
        return Html()
    lead = "Sending your answer…" if sending else "May this query leave this machine?"
    return h.div("cx")[
        h.div("approval", role="status")[
            h.p("says")[h.b[lead]],
            h.p[h.span("query")[asked.query]],
            h.p("small")[
                "It would go to ",
                h.b[title(asked.provider)],
                ", and pages that it finds may then be opened. Nothing is sent until you approve. If you don't, the "
                "answer uses only what was found without it.",
            ],
        ]
    ]


def outcome_text(approval: Approval) -> str:
    """What became of one question, in the record; nothing while it waits in a run under way."""
    if approval.approved:
        return "You approved this query."
    if approval.approved is False:
        return "Not approved, so nothing was sent."
    return "The run ended before you answered, so nothing was sent."
