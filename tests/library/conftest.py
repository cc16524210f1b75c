"""An open library and a way to fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.core.types import Document
from crag.library.library import Library
from tests.support.library_makers import HashEmbedder, make_document


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def library(tmp_path: Path, embedder: HashEmbedder) -> Iterator[Library]:
    with Library.open(tmp_path / "library", embedder) as opened:
        yield opened


@pytest.fixture
def fill(embedder: HashEmbedder) -> Callable[..., Document]:
    """fill(library, label, …): adds a made document and returns it."""

    def add(library: Library, label: str, chunks: int = 4, **options: object) -> Document:
        document, data, made = make_document(label, chunks, **options)  # type: ignore[arg-type]
        library.documents.add(document, data, made, embedder.embed([chunk.indexed_text for chunk in made]))
        return document

    return add
