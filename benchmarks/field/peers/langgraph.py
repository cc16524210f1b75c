"""The retrieval of LangGraph's CRAG notebook as people copy it: PyPDFLoader, recursive splitter, FAISS, one node.

The notebook's next node grades documents with a language model, so the graph here ends after its first.
`variant` is the splitter's size and overlap in characters.
"""

from __future__ import annotations

from typing import TypedDict

from langchain_community.document_loaders import PyPDFLoader, TextLoader
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter
from langgraph.graph import END, START, StateGraph

from benchmarks.field.child import Passage
from benchmarks.field.embedding import Embedding

PACKAGES = ["langgraph", "langchain-community", "langchain-text-splitters", "faiss-cpu", "pypdf"]


class Embedder(Embeddings):
    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embedding.passages(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self._embedding.question(text).tolist()


class State(TypedDict, total=False):
    question: str
    k: int
    documents: list[Document]


class Peer:
    def __init__(self, embedding: Embedding, variant: str) -> None:
        size, overlap = map(int, variant.split("/"))
        self._splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
        self._embedder = Embedder(embedding)
        self.chunks = 0

    def add(self, files: list[str]) -> None:
        loaders = [PyPDFLoader(file) if file.endswith(".pdf") else TextLoader(file) for file in files]
        documents = self._splitter.split_documents([page for loader in loaders for page in loader.load()])
        self._store = FAISS.from_documents(documents, self._embedder)
        self.chunks = len(documents)
        graph = StateGraph(State)
        graph.add_node("retrieve", self._retrieve)
        graph.add_edge(START, "retrieve")
        graph.add_edge("retrieve", END)
        self._graph = graph.compile()

    def _retrieve(self, state: State) -> State:
        return {"documents": self._store.similarity_search(state["question"], k=state["k"])}

    def search(self, question: str, k: int) -> list[Passage]:
        found = self._graph.invoke({"question": question, "k": k})["documents"]
        return [
            (each.metadata["source"].rsplit("/", 1)[-1], [each.metadata.get("page", 0) + 1], each.page_content)
            for each in found
        ]
