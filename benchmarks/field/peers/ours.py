"""CRAG Explorer: the app's own reader, tables, chunking, records and index, searched as a run searches."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from benchmarks.field.child import Passage
from benchmarks.field.embedding import Embedding
from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded, DocumentFailed
from crag.core.protocols import SearchQuery
from crag.pipeline.indexing import Indexer
from crag.runtime.fair_queue import FairQueue
from crag.storage.library import Library

PACKAGES = [
    line.split(">=")[0]
    for line in (Path(__file__).parents[3] / "requirements" / "engine.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
"""What the engine installs. It is itself a folder here, not a package."""


class Embedder:
    """The library's protocol over the benchmark's model."""

    dimension = 384

    def __init__(self, embedding: Embedding) -> None:
        self.id, self.embed, self.embed_question = embedding.id, embedding.passages, embedding.question


class Peer:
    def __init__(self, embedding: Embedding, variant: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._embedder = Embedder(embedding)
        self._library = Library(Path(self._folder.name), self._embedder)
        self.chunks = 0

    def add(self, files: list[str]) -> None:
        indexer = Indexer(
            library=self._library,
            embedder=self._embedder,
            config=AppConfig(),
            readers=FairQueue(2),
            cancel=threading.Event(),
        )
        for event in indexer.index((Path(file).name, Path(file).read_bytes) for file in files):
            if isinstance(event, DocumentFailed):
                raise RuntimeError(f"{event.name}: {event.message}")
            if isinstance(event, DocumentAdded):
                self.chunks += event.document.chunks

    def search(self, question: str, k: int) -> list[Passage]:
        found = self._library.find(SearchQuery(question, k))
        return [(each.chunk.source, [each.chunk.page], each.chunk.text) for each in found]
