"""txtai as its quick start shows it: an Embeddings index, dense or `hybrid=True`, over what Segmentation makes.

Its Textractor needs Java or Docling for PDFs, so pypdf reads the pages, which Segmentation then cuts at paragraphs.
"""

from __future__ import annotations

from pathlib import Path

import pypdf
from txtai import Embeddings
from txtai.pipeline import Segmentation

from benchmarks.field.child import Passage
from benchmarks.field.embedding import Embedding

PACKAGES = ["txtai", "pypdf"]


class Peer:
    def __init__(self, embedding: Embedding, variant: str) -> None:
        self._asking = False
        self._places: list[tuple[str, int, str]] = []
        self._index = Embeddings(
            method="external",
            transform=lambda texts: embedding.question(texts[0])[None] if self._asking else embedding.passages(texts),
            hybrid=variant == "hybrid",
        )
        self.chunks = 0

    def add(self, files: list[str]) -> None:
        segments = Segmentation(paragraphs=True)
        for file in files:
            pages = [page.extract_text() for page in pypdf.PdfReader(file).pages] if file.endswith(".pdf") else []
            for number, text in enumerate(pages or [Path(file).read_text(encoding="utf-8")], start=1):
                self._places += [(file, number, segment) for segment in segments(text)]
        self._index.index([segment for _, _, segment in self._places])
        self.chunks = len(self._places)

    def search(self, question: str, k: int) -> list[Passage]:
        self._asking = True
        found = [self._places[row] for row, _ in self._index.search(question, k)]
        return [(file, [page], text) for file, page, text in found]
