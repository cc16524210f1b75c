"""Vectors that are made for a whole library lie in a file until all are there, and are never all in memory."""

import tracemalloc

import numpy as np

from crag.storage.new_vectors import NewVectors


def test_new_vectors_are_read_back_by_number_in_batches() -> None:
    rows = np.arange(40, dtype=np.float32).reshape(10, 4)
    with NewVectors(4) as made:
        made.add([3, 1, 7], rows[:3])
        made.add([2], rows[3:4])
        assert len(made) == 4 and 7 in made and 8 not in made
        ((numbers, found),) = made.batches([1, 2, 7])
        assert numbers == [1, 2, 7] and found.tolist() == rows[[1, 3, 2]].tolist()
        assert [*made.batches([])] == []


def test_new_vectors_are_not_in_memory() -> None:
    rows = np.ones((1_000, 256), np.float32)
    tracemalloc.start()
    with NewVectors(256) as made:
        for at in range(0, 40_000, 1_000):
            made.add([*range(at, at + 1_000)], rows)
        for _numbers, found in made.batches([*range(40_000)]):
            assert found.sum() == found.size
        _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000 < 40_000 * 256 * 4
