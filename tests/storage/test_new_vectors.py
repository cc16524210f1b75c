"""Vectors that are made for a whole library lie in a file until all are there, and are never all in memory."""

import tracemalloc

import numpy as np

from crag.storage.library import Library
from tests.storage.conftest import OpenLibrary
from tests.support.library_makers import HashEmbedder, fill

ANOTHER = HashEmbedder("hash-v2", 4096)


def test_what_comes_and_goes_meanwhile_is_embedded_or_left_out(library: Library, open_library: OpenLibrary) -> None:
    gone, other, steps = fill(library, "alpha", 9), open_library("library", ANOTHER), list[tuple[int, int]]()
    fill(library, "beta", 100)

    def meanwhile(done: int, total: int) -> None:
        if not steps:
            library.documents.delete(gone.id)
            fill(library, "gamma", 7)
        steps.append((done, total))

    other.reindex(meanwhile)
    assert steps[-1] == (107, 107) and not other.verify()
    made = [chunk.indexed_text for each in other.documents.all() for chunk in other.documents.chunks(each.id)]
    assert np.array_equal(other.points.vectors(other.points.numbers()), ANOTHER.embed(made))


def test_new_vectors_are_not_in_memory(library: Library, open_library: OpenLibrary) -> None:
    for number in range(20):
        fill(library, f"label{number}", 100)
    other = open_library("library", ANOTHER)
    tracemalloc.start()
    other.reindex()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000 < 2_000 * 4096 * 4
