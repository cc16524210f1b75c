"""What a small library for an engine is made of: texts, an embedder of words, an evaluator that scores anything."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crag.core.types import Chunk
from crag.engine import Engine
from crag.testing.fakes import chunk_of
from tests.support.made import document_of

TEXTS = [
    "The agency hired four hundred people in 2019. Hiring took eighty days on average, ten fewer than before.",
    "Retirement claims are handled within sixty days. In 2019 the average was fifty-seven days for each claim.",
    "The inspector general examined twelve programs. Three of them were told to keep better records of spending.",
    "Employees answered a survey about their work. Two of three said that they would recommend the agency.",
]
HIRING, CLAIMS, PROGRAMS, SURVEY = 1, 2, 3, 4
"""The pages of these texts."""


class WordEmbedder:
    """A text is the sum of its words' fixed random vectors: texts that share words are near."""

    id = "words-test-1"
    dimension = 48

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [sum((self._vector(word) for word in re.findall(r"\w+", text.lower())), np.zeros(48)) for text in texts]
        matrix = np.asarray(rows, np.float32).reshape(len(texts), 48) + 1e-6
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)

    @staticmethod
    def _vector(word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        return np.random.default_rng(seed).standard_normal(48)


def spread(text: str) -> float:
    """A score that is anything in 0..1 but always the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:2], "big") / 65535


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
