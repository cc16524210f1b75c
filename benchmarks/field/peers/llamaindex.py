"""LlamaIndex as its starter shows it: SimpleDirectoryReader (pypdf), its own splitter, the vector store in memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from pydantic import PrivateAttr

from benchmarks.field.child import Passage
from benchmarks.field.embedding import Embedding

PACKAGES = ["llama-index-core", "llama-index-readers-file"]


class Embedder(BaseEmbedding):
    _embedding: Embedding = PrivateAttr()

    def __init__(self, embedding: Embedding, **fields: Any) -> None:
        super().__init__(**fields)
        self._embedding = embedding

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedding.passages(texts).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedding.question(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Peer:
    def __init__(self, embedding: Embedding, variant: str) -> None:
        self._embedder = Embedder(embedding, embed_batch_size=256)
        self._pages: dict[str, int] = {}
        self.chunks = 0

    def add(self, files: list[str]) -> None:
        documents = SimpleDirectoryReader(input_files=files).load_data()
        before: Counter[str] = Counter()
        for document in documents:  # one a page, in order
            before[document.metadata["file_name"]] += 1
            self._pages[document.doc_id] = before[document.metadata["file_name"]]
        self._index = VectorStoreIndex.from_documents(documents, embed_model=self._embedder)
        self.chunks = len(self._index.docstore.docs)

    def search(self, question: str, k: int) -> list[Passage]:
        nodes = self._index.as_retriever(similarity_top_k=k).retrieve(question)
        return [
            (each.node.metadata["file_name"], [self._pages[each.node.ref_doc_id]], each.node.get_content())
            for each in nodes
        ]
