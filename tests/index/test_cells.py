"""The main file: made from rows, from another main file, and from its cells anew."""

import threading
from pathlib import Path

import numpy as np
import pytest

from crag.index import vectors
from crag.index.manifest import IndexCorruptError
from crag.index.vectors import FlatSegment, IvfSegment, Rows
from crag.testing.index_contract import DIMENSION, unit

ALL = unit(4000, seed=3)


def rows(start: int, stop: int) -> FlatSegment:
    """Chunk n has the vector ALL[n] and belongs to document n // 10."""
    numbers = np.arange(start, stop)
    return FlatSegment(Rows(numbers, numbers // 10, np.ones(len(numbers), np.bool_)), ALL[start:stop])


def made(folder: Path, name: str, main: IvfSegment | None, tail: FlatSegment) -> IvfSegment:
    return IvfSegment.open(folder, name, vectors.make(folder, name, main, tail, lambda: None), DIMENSION)


def recall(main: IvfSegment, vectors: np.ndarray) -> float:
    """The share of the exact ten nearest of what is alive that are among a hundred."""
    alive = main.rows.alive
    selector = main.selector(alive)
    hits = 0
    for question in unit(40, seed=8):
        exact = main.rows.numbers[alive][np.argsort(-(vectors[main.rows.numbers[alive]] @ question))[:10]]
        found, _ = main.best(question, 100, int(alive.sum()), selector)
        hits += len(set(exact.tolist()) & set(main.rows.numbers[found].tolist()))
    return hits / 400


def test_what_is_made_from_a_main_file_and_what_came_after_has_both(tmp_path: Path) -> None:
    first = made(tmp_path, "first", None, rows(0, 1000))
    assert recall(first, ALL) >= 0.97
    half = first.without(np.arange(0, 1000, 2))
    assert recall(half, ALL) >= 0.97
    second = made(tmp_path, "second", half, rows(1000, 1500))
    assert second.index.nlist == first.index.nlist
    assert second.rows.numbers.tolist() == [*range(1, 1000, 2), *range(1000, 1500)]
    assert np.array_equal(second.rows.documents, second.rows.numbers // 10)
    assert recall(second, ALL) >= 0.97


def test_there_are_more_cells_when_there_should_be_twice_as_many(tmp_path: Path) -> None:
    main = made(tmp_path, "first", None, rows(0, 100))
    after = made(tmp_path, "after", main, rows(100, 4000))
    assert after.index.nlist >= 2 * main.index.nlist
    assert recall(after, ALL) >= 0.97


def test_vectors_do_not_blur_when_files_are_made_from_files(tmp_path: Path) -> None:
    main = made(tmp_path, "0", None, rows(0, 500))
    question = unit(seed=2)
    before = sorted(main.best(question, 500, 500, None)[1].tolist())
    for turn in range(1, 5):
        main = made(tmp_path, str(turn), main, rows(500 * turn, 500 * turn + 500))
    rows_, scores = main.best(question, 2500, 2500, None)
    assert sorted(scores[main.rows.numbers[rows_] < 500].tolist()) == pytest.approx(before, abs=1e-5)


def test_it_is_ended_where_it_is_asked_to(tmp_path: Path) -> None:
    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        vectors.make(tmp_path, "never", None, rows(0, 100), stop)


def test_another_dimension_is_not_read(tmp_path: Path) -> None:
    sums = vectors.make(tmp_path, "main", None, rows(0, 100), lambda: None)
    with pytest.raises(IndexCorruptError):
        IvfSegment.open(tmp_path, "main", sums, DIMENSION + 1)


def test_many_threads_search_at_once(tmp_path: Path) -> None:
    main = made(tmp_path, "main", None, rows(0, 1000))
    mask = main.rows.of(np.arange(50))
    selector = main.selector(mask)
    wrong = list[int]()

    def search(seed: int) -> None:
        for question in unit(50, seed=seed):
            found, _ = main.best(question, 600, 500, selector)
            if set(main.rows.numbers[found].tolist()) != set(range(500)):
                wrong.append(seed)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
