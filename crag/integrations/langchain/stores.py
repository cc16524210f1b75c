"""Anybody's vector store or retriever, searched by a run in place of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from crag.core.errors import CragError, RetrieverError, SettingsError
from crag.core.protocols import QuestionEmbedder
from crag.core.types import Chunk, RetrievedChunk
from crag.engine import Engine
from crag.integrations.langchain.documents import as_chunks, confidence_of
from crag.pipeline.admission import storable


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


CANDIDATES = 4
"""So many times as many Documents are asked for where the confidence of some may keep them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRetriever:
    """A retriever of LangChain as a run's `Retriever`. As thread-safe as that is. Made by `retriever_of`.

    `callbacks` hear of its searches as of any retriever's; `met` hears of each Document by its chunk's id.
    """

    retriever: BaseRetriever
    min_confidence: float = 0.0
    first_page: int = 0
    callbacks: Callbacks = None
    met: Callable[[str, Document], object] = field(default=lambda id, document: None)

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        """At most `k` Documents as chunks, in the order in which they came, each once.

        Those trusted less than `min_confidence` are left out, unless all are. Raises RetrieverError.
        """
        found = as_chunks(self._documents(query, k), self.first_page).values()
        trusted = [each for each in found if confidence_of(each[1]) >= self.min_confidence]
        kept = (trusted or list(found))[:k]
        for chunk, document in kept:
            self.met(chunk.id, document)
        return hits_of(chunk for chunk, _ in kept)

    def _documents(self, query: str, k: int) -> list[Document]:
        """What it finds. How many is its own affair where it says so, or is no vector store's."""
        how: dict[str, Any] = {}
        if isinstance(self.retriever, VectorStoreRetriever) and "k" not in self.retriever.search_kwargs:
            how["k"] = k * CANDIDATES if self.min_confidence > 0 else k
        try:
            found: Any = self.retriever.invoke(query, {"callbacks": self.callbacks}, **how)
        except CragError:
            raise
        except Exception as error:
            raise RetrieverError(f"{self._name} failed ({type(error).__name__}).") from error
        if not isinstance(found, list) or not all(isinstance(each, Document) for each in found):
            raise RetrieverError(f"{self._name} gave something else than a list of Documents.")
        return found

    @property
    def _name(self) -> str:
        inner = self.retriever.vectorstore if isinstance(self.retriever, VectorStoreRetriever) else self.retriever
        return type(inner).__name__


def retriever_of(
    source: VectorStore | BaseRetriever,
    *,
    search_type: Literal["similarity", "mmr", "similarity_score_threshold"] = "similarity",
    search_kwargs: Mapping[str, Any] | None = None,
    min_confidence: float = 0.0,
    first_page: Literal[0, 1] = 0,
    callbacks: Callbacks = None,
) -> StoreRetriever:
    """A vector store or retriever of LangChain for `RunRequest(retriever=…)`: retrieved there, corrected here.

    `search_type` and `search_kwargs` as in `VectorStore.as_retriever`: a tenant's filter goes there, in the store's own
    words; without a `k` there, a run's strategy says how many. What is trusted less than `min_confidence` by its
    metadata (`confidence`, 0..1; 1 where they say none) is left out unless all is. `first_page`: how the metadata count
    pages; LangChain's readers of PDF begin at 0. Raises SettingsError for anything else than a store or retriever, and
    for arguments that it does not take.
    """
    given = dict(search_kwargs or {})
    if not 0 <= min_confidence <= 1:
        raise SettingsError(f"A confidence lies in 0..1, not {min_confidence}.")
    if first_page not in (0, 1):
        raise SettingsError(f"A first page has the number 0 or 1, not {first_page!r}.")
    return StoreRetriever(
        retriever=_retriever(source, search_type, given),
        min_confidence=min_confidence,
        first_page=first_page,
        callbacks=callbacks,
    )


def hits_of(chunks: Iterable[Chunk]) -> list[RetrievedChunk]:
    """Chunks as a search gives them. The similarity is the place alone: stores' scores are distances here and there."""
    return [RetrievedChunk(chunk=chunk, rank=rank, similarity=1 / rank) for rank, chunk in enumerate(chunks, start=1)]


def _retriever(source: object, search_type: str, given: dict[str, Any]) -> BaseRetriever:
    if isinstance(source, VectorStore):
        try:
            return source.as_retriever(search_type=search_type, search_kwargs=given)
        except ValueError as error:
            raise SettingsError(
                f"{type(source).__name__} does not take these search arguments.",
                "Give a search_type of LangChain, and the search_kwargs that it needs.",
            ) from error
    if isinstance(source, VectorStoreRetriever):
        return source.model_copy(update={"search_kwargs": {**source.search_kwargs, **given}}) if given else source
    if isinstance(source, BaseRetriever):
        if given:
            raise SettingsError(
                f"{type(source).__name__} takes no search arguments here.", "Give them when you make it."
            )
        return source
    raise SettingsError(
        f"{type(source).__name__} is no vector store or retriever of LangChain.",
        "Give a VectorStore or a BaseRetriever.",
    )
