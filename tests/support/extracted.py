"""Answers that quote strips of given texts."""

from collections.abc import Sequence

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Strip
from crag.generation.extractive import ExtractiveGenerator
from crag.testing.fakes import ScriptedReader


def extracted(
    question: str, knowledge: Sequence[Strip], *sources: Chunk, pointed: str = "", **changes: object
) -> Answer:
    """The answer from these strips of these texts; where words are `pointed` at, a reader finds them."""
    reader = ScriptedReader(words={pointed: 0.95}) if pointed else None
    settings = Settings().changed(**changes)
    *_, answer = ExtractiveGenerator(reader=reader).answer(
        question, list(knowledge), {chunk.id: chunk for chunk in sources}, settings
    )
    assert isinstance(answer, Answer)
    return answer
