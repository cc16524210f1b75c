"""A person's word on a chunk: two small buttons on its card, stored with the question, and taken back the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from crag.core.errors import InputError
from crag.core.trace import Trace
from crag.core.types import RetrievedChunk
from ui.app.session import Session
from ui.components import html as h
from ui.components.html import Html

_WORDS: dict[Literal["relevant", "irrelevant"], str] = {"relevant": "Relevant", "irrelevant": "Not relevant"}


def labels_of(session: Session, question: str) -> dict[str, str]:
    """The labels of this question's chunks, by chunk id. Raises CragError."""
    return {label.chunk_id: label.label for label in session.library.labels.all() if label.question == question}


def buttons(found: RetrievedChunk, labels: Mapping[str, str]) -> Html:
    """Relevant and not relevant, the one that was chosen pressed."""
    chunk, held = found.chunk, labels.get(found.chunk.id)
    drawn = [
        h.button(
            f"thumb {label}",
            data_pick=f"label:{label}:{chunk.id}",
            aria_pressed="true" if held == label else "false",
            title=_help(word, held == label),
            aria_label=f"{word} for this question: chunk {found.rank}, {chunk.where}",
        )
        for label, word in _WORDS.items()
    ]
    return h.span("thumbs", role="group", aria_label=f"Your rating of chunk {found.rank}")[drawn]


def _help(word: str, held: bool) -> str:
    return f"You rated it {word.lower()}. Click to undo." if held else f"{word} for this question"


def toggle(session: Session, trace: Trace, rest: str) -> None:
    """Store what was clicked, `label:chunk` as `buttons` drew it, or take it back if it is set. Raises CragError."""
    session.require("ask")
    label, _, chunk = rest.partition(":")
    if label not in _WORDS or not any(found.chunk.id == chunk for each in trace.rounds for found in each.chunks):
        raise InputError("This run has no such chunk.", "Choose one of the chunks listed.")
    if labels_of(session, trace.meant).get(chunk) == label:
        session.library.labels.delete(trace.meant, chunk)
    else:
        session.library.labels.save(trace.meant, chunk, label)
