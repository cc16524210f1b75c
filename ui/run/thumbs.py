"""A person's word on a chunk: two small buttons on its card, stored with the question, and taken back the same way."""

from __future__ import annotations

from crag.core.errors import InputError
from crag.core.trace import Trace
from crag.export.html.marks import RATINGS
from ui.app.session import Session


def labels_of(session: Session, question: str) -> dict[str, str]:
    """The labels of this question's chunks, by chunk id. Raises CragError."""
    return {label.chunk_id: label.label for label in session.library.labels.all() if label.question == question}


def toggle(session: Session, trace: Trace, rest: str) -> None:
    """Store what was clicked, `label:chunk` as `buttons` drew it, or take it back if it is set. Raises CragError."""
    session.require("ask")
    label, _, chunk = rest.partition(":")
    if label not in RATINGS or not any(found.chunk.id == chunk for each in trace.rounds for found in each.chunks):
        raise InputError("This run has no such chunk.", "Choose one of the chunks listed.")
    if labels_of(session, trace.meant).get(chunk) == label:
        session.library.labels.delete(trace.meant, chunk)
    else:
        session.library.labels.save(trace.meant, chunk, label)
