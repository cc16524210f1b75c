"""Vectors that are made for a whole library lie in a file until all are there, and are never all in memory."""

import tracemalloc
from collections.abc import Callable

import numpy as np

from crag.core.types import Document
from crag.storage.library import Library
from tests.storage.conftest import OpenLibrary
from tests.support.library_makers import HashEmbedder

Fill = Callable[..., Document]


def test_what_comes_and_goes_while_vectors_are_made_is_embedded_or_left_out(
    library: Library, fill: Fill, open_library: OpenLibrary
) -> None:
    gone, kept = fill(library, "alpha", 9), fill(library, "beta", 100)
    library.close()
    with open_library("library", HashEmbedder("hash-v2", 96)) as other:
        steps: list[tuple[int, int]] = []

        def meanwhile(done: int, total: int) -> None:
            if not steps:
                with open_library("library", HashEmbedder()) as before:
                    before.documents.delete(gone.id)
                    fill(before, "gamma", 7)
            steps.append((done, total))

        other.reindex(meanwhile)
        assert steps[-1] == (107, 107)
        assert not other.verify()
        numbers = other.points.numbers()
        assert len(numbers) == 107
        texts = [
            chunk.indexed_text for document in other.documents.all() for chunk in other.documents.chunks(document.id)
        ]
        assert np.array_equal(other.points.vectors(numbers), HashEmbedder("hash-v2", 96).embed(texts))
        assert {document.id for document in other.documents.all()} >= {kept.id}


def test_new_vectors_are_not_in_memory(library: Library, fill: Fill, open_library: OpenLibrary) -> None:
    for number in range(20):
        fill(library, f"label{number}", 100)
    library.close()
    with open_library("library", HashEmbedder("hash-v2", 4096)) as other:
        tracemalloc.start()
        other.reindex()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 20_000_000 < 2_000 * 4096 * 4
