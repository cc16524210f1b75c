"""Haystack as its indexing and hybrid tutorials show it: pypdf, cleaner, splitter (200 words), store in memory.

BM25 and embedding retrieval are joined by reciprocal rank fusion. The tutorial's last step, a cross-encoder that
ranks again, needs weights to download and is left out. A chunk counts for every page that it reaches into.
"""

from __future__ import annotations

from dataclasses import replace

from haystack import Document, Pipeline, component
from haystack.components.converters import PyPDFToDocument, TextFileToDocument
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.field.child import Passage
from benchmarks.field.embedding import Embedding

PACKAGES = ["haystack-ai", "pypdf"]


@component
class DocumentEmbedder:
    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        vectors = self._embedding.passages([document.content for document in documents]).tolist()
        return {"documents": [replace(d, embedding=v) for d, v in zip(documents, vectors, strict=True)]}


@component
class TextEmbedder:
    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": self._embedding.question(text).tolist()}


class Peer:
    def __init__(self, embedding: Embedding, variant: str) -> None:
        self._embedding = embedding
        self._store = InMemoryDocumentStore()
        search = Pipeline()
        search.add_component("embedder", TextEmbedder(embedding))
        search.add_component("dense", InMemoryEmbeddingRetriever(self._store))
        search.add_component("bm25", InMemoryBM25Retriever(self._store))
        search.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        search.connect("embedder", "dense.query_embedding")
        search.connect("dense", "joiner")
        search.connect("bm25", "joiner")
        self._search = search
        self.chunks = 0

    def add(self, files: list[str]) -> None:
        adding = Pipeline()
        adding.add_component("reader", PyPDFToDocument() if files[0].endswith(".pdf") else TextFileToDocument())
        adding.add_component("cleaner", DocumentCleaner())
        adding.add_component("splitter", DocumentSplitter())
        adding.add_component("embedder", DocumentEmbedder(self._embedding))
        adding.add_component("writer", DocumentWriter(self._store))
        for one, other in (("reader", "cleaner"), ("cleaner", "splitter"), ("splitter", "embedder")):
            adding.connect(one, other)
        adding.connect("embedder", "writer")
        adding.run({"reader": {"sources": files}})
        self.chunks = self._store.count_documents()

    def search(self, question: str, k: int) -> list[Passage]:
        result = self._search.run(
            {
                "embedder": {"text": question},
                "dense": {"top_k": k},
                "bm25": {"query": question, "top_k": k},
                "joiner": {"top_k": k},
            }
        )
        return [(d.meta["file_path"], pages(d), d.content) for d in result["joiner"]["documents"]]


def pages(document: Document) -> list[int]:
    first = document.meta.get("page_number", 1)
    return list(range(first, first + document.content.strip("\f").count("\f") + 1))
