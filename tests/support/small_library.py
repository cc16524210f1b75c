"""What a small library for an engine is made of: texts, an embedder of words, an evaluator that scores anything."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from crag.core.config import AppConfig, Keys
from crag.core.types import Chunk
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator, chunk_of
from tests.support.library_makers import HashEmbedder
from tests.support.made import document_of

TEXTS = [
    "The agency hired four hundred people in 2019. Hiring took eighty days on average, ten fewer than before.",
    "Retirement claims are handled within sixty days. In 2019 the average was fifty-seven days for each claim.",
    "The inspector general examined twelve programs. Three of them were told to keep better records of spending.",
    "Employees answered a survey about their work. Two of three said that they would recommend the agency.",
]
HIRING, CLAIMS, PROGRAMS, SURVEY = 1, 2, 3, 4
"""The pages of these texts."""


class WordEmbedder(HashEmbedder):
    """With so much room that hardly two words share a place: texts that share words are near."""

    def __init__(self) -> None:
        super().__init__("words-test-1", 256)


def spread(text: str) -> float:
    """A score that is anything in 0..1 but always the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:2], "big") / 65535


def engine_with_texts(
    config: AppConfig, score: Callable[[str], float | None] = spread, keys: Keys | None = None, **parts: Any
) -> Engine:
    """An engine over the texts above, with these parts, else the embedder of words and an evaluator with `score`."""
    made = Engine(config, keys, **{"embedder": WordEmbedder(), "evaluator": ScriptedEvaluator(score=score), **parts})
    fill(made)
    return made


def fill(engine: Engine, texts: Sequence[str] = TEXTS, workspace: str = "default") -> list[Chunk]:
    return _stored(engine, "report.pdf", "report.pdf", texts, workspace)


def add_document(engine: Engine, name: str, texts: Sequence[str]) -> str:
    """Another document of one chunk a text, each on a page of its own; its id."""
    id = hashlib.sha256(name.encode()).hexdigest()
    _stored(engine, name, id, texts, "default")
    return id


def _stored(engine: Engine, name: str, id: str, texts: Sequence[str], workspace: str) -> list[Chunk]:
    chunks = [replace(chunk_of(text, name=name, page=place + 1), document_id=id) for place, text in enumerate(texts)]
    document = document_of(chunks, title="Report", model=engine.embedder.id)
    vectors = engine.embedder.embed([chunk.indexed_text for chunk in chunks])
    engine.library(workspace).documents.add(document, b"pdf", chunks, vectors)
    return chunks
