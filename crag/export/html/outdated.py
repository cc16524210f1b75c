"""What is out of date of the documents that a run found, as its evidence and the note beside its answer say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from crag.core.trace import Trace
from crag.core.types import Chunk
from crag.engine import Engine
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.messages.documents import stale_sentences

Stale = Mapping[str, Sequence[str]]
"""What is out of date of documents, in sentences, by the document's id."""


def find(engine: Engine, workspace: str | Path, trace: Trace) -> Stale:
    """What is out of date by now of all documents that the run found. Raises CragError."""
    ids = {each.document_id for each in trace.sources.values() if isinstance(each, Chunk) and not each.elsewhere}
    return stale_sentences(engine.stale(workspace, sorted(ids))) if ids else {}


def note(trace: Trace, stale: Stale) -> Html:
    """Which of the documents that the answer rests on are out of date; nothing where none is."""
    names = {each.document_id: each.source for each in trace.sources.values() if isinstance(each, Chunk)}
    lines = [
        h.div("note")[h.b["Out of date: ", names[id], "."], " ", " ".join(stale[id])]
        for id in trace.documents
        if id in stale
    ]
    return h.div("cx")[lines] if lines else Html()


def tag(chunk: Chunk, stale: Stale) -> Html:
    """The mark of a chunk whose document is out of date; why, on hover."""
    said = stale.get(chunk.document_id)
    return h.span("tag old", title=" ".join(said))["out of date"] if said else Html()


def why(chunk: Chunk, stale: Stale) -> Html:
    """The same in sentences."""
    said = stale.get(chunk.document_id)
    return h.p("small")[" ".join(said)] if said else Html()
