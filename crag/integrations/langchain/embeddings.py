"""The engine's embedding model in LangChain's form, for any of its vector stores: no key, no network."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from crag.core.protocols import QuestionEmbedder
from crag.engine import Engine
from crag.pipeline.admission import storable

__all__ = ["CragEmbeddings"]


class CragEmbeddings(Embeddings):
    """Texts to unit vectors by the model that the engine's configuration names, loaded at the first call.

    Thread-safe. Raises ModelError where the model's files are missing or damaged.
    """

    def __init__(self, engine: Engine | None = None) -> None:
        """`engine` None: one as the environment configures it."""
        self._engine = engine or Engine()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, of length 1."""
        vectors: list[list[float]] = self._engine.embedder.embed([storable(text) for text in texts]).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector that a question is compared by: some models read one in another way than a text."""
        embedder, asked = self._engine.embedder, storable(text)
        if isinstance(embedder, QuestionEmbedder):
            question = embedder.embed_question(asked)
        else:
            (question,) = embedder.embed([asked])
        vector: list[float] = question.tolist()
        return vector
