"""The two buttons by which a person rates a chunk, for its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from crag.core.types import RetrievedChunk
from crag.export.html import elements as h
from crag.export.html.elements import Html

RATINGS: dict[Literal["relevant", "irrelevant"], str] = {"relevant": "Relevant", "irrelevant": "Not relevant"}


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
        for label, word in RATINGS.items()
    ]
    return h.span("thumbs", role="group", aria_label=f"Your rating of chunk {found.rank}")[drawn]


def _help(word: str, held: bool) -> str:
    return f"You rated it {word.lower()}. Click to undo." if held else f"{word} for this question"
