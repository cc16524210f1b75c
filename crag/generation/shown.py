"""Which strips a writer is shown: the best of those kept, as many as fit. The check of its answer looks at the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.core.fences import fence_text
from crag.core.types import Chunk, Strip, WebPage
from crag.generation.abstention import usable_of
from crag.text.injection import injection_within, mask_injection

CHARS_A_TOKEN = 3.2
"""Fewer than English text has, so that what is counted here fits the model's own count too."""
AROUND = 60
"""Characters that a strip's tags and place take beside its text."""


def fit_strips(knowledge: Sequence[Strip], tokens: int) -> list[Strip]:
    """The best strips that fit into so many tokens, best first; at least one, where one holds a word."""
    usable, _ = usable_of(knowledge)
    chosen: list[Strip] = []
    room = tokens * CHARS_A_TOKEN
    for strip in sorted(usable, key=lambda strip: -(strip.score if strip.score is not None else 0.0)):
        room -= len(strip.text) + AROUND
        if room < 0 and chosen:
            break
        chosen.append(strip)
    return chosen


def fenced_strip(strip: Strip, source: Chunk | WebPage | None, **marks: object) -> str:
    """A strip as a writer reads it: whole, between tags, with what its source says to a model marked."""
    spans = injection_within(source.text, strip.start, strip.end) if source else None
    return fence_text("source", strip.text, spans, **marks, place=place_of(source))


def place_of(source: Chunk | WebPage | None) -> str:
    """Where a source stands, as a mark of its tag: without what could close the tag, or speaks to a model."""
    match source:
        case Chunk():
            place = ", ".join(filter(None, (source.title, source.where)))
        case WebPage():
            place = f"web page: {source.title}"
        case None:
            place = "unknown"
    return " ".join(mask_injection(re.sub(r"[\"<>\s]+", " ", place)).split())[:160].strip()
