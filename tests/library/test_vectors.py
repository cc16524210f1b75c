"""A canary: what search takes from FAISS by its address must be the index's vectors, in order.

`Vectors.similarities` reads the memory of a flat index (`get_xb`, `rev_swig_ptr`), which FAISS promises to nobody.
Where a new version of faiss-cpu fails here, take the rows by `index.reconstruct_n` until it is seen what changed.
"""

from __future__ import annotations

import faiss
import numpy as np
import pytest
from numpy.typing import NDArray

from crag.library.vectors import Vectors


def rows(count: int, dimension: int) -> NDArray[np.float32]:
    return np.random.default_rng(7).standard_normal((count, dimension)).astype(np.float32)


@pytest.mark.parametrize("stored", [False, True], ids=["built", "read from a file"])
def test_the_memory_of_an_index_is_its_vectors_in_order(stored: bool) -> None:
    vectors, query = rows(5_000, 48), rows(1, 48)[0]
    index = faiss.IndexFlatIP(48)
    for at in range(0, len(vectors), 1_000):
        index.add(vectors[at : at + 1_000])
    if stored:
        index = faiss.deserialize_index(np.frombuffer(faiss.serialize_index(index).tobytes(), dtype=np.uint8))
    numbers = np.arange(len(vectors))
    found = Vectors(index, numbers, numbers, numbers).similarities(query)
    assert found.dtype == np.float32 and np.array_equal(found, vectors @ query)
    assert np.array_equal(index.reconstruct_n(0, len(vectors)), vectors), "the public way to the same rows"


def test_an_empty_index_is_not_reached_into() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert Vectors(faiss.IndexFlatIP(1), none, none, none).similarities(rows(1, 1)[0]).shape == (0,)
