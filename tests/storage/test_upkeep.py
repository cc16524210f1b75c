"""The index follows the records: by what changed, after failures, beside other processes; and search goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import IndexUnavailableError
from crag.core.protocols import SearchQuery, embed_question
from crag.core.types import Document
from crag.index.chunk_index import Batch, Candidates, Contents, Numbers, Vectors
from crag.index.embedded import EmbeddedIndex
from crag.index.lexical import Lexical
from crag.storage import index_sync, store
from crag.storage.library import Library
from crag.storage.postgres import Server
from crag.testing.fakes import FakeClock
from tests.support.library_makers import HashEmbedder

Fill = Callable[..., Document]


class Watched(EmbeddedIndex):
    """Notes what is done to it; does as it is asked."""

    def __init__(self, place: Path, orders: Orders, contents: Contents) -> None:
        super().__init__(place, contents)
        self.orders = orders
        orders.opened += 1
        orders.reached()

    def add(self, batches: Sequence[Batch]) -> None:
        self.orders.may_add.wait(20)
        self.orders.reached()
        self.orders.added += [batch.document for batch in batches]
        super().add(batches)

    def clear(self) -> None:
        super().clear()
        self.orders.cleared += 1

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        self.orders.reached()
        before, after = self.orders.around.pop() if self.orders.around else (lambda: None, lambda: None)
        before()
        found = super().top(vector, words, k, documents)
        after()
        return found


class Orders:
    """What the index of a test is to do, and what was done to it."""

    def __init__(self) -> None:
        self.down = False
        self.may_add = threading.Event()
        self.may_add.set()
        self.added: list[int] = []
        self.around: list[tuple[Callable[[], object], Callable[[], object]]] = []
        """What is to be done before and after a look into the index, the last first."""
        self.cleared = self.opened = 0

    def reached(self) -> None:
        if self.down:
            raise IndexUnavailableError("The server of the index does not answer.", "Start it.")


@pytest.fixture
def orders() -> Orders:
    return Orders()


@pytest.fixture
def watched(tmp_path: Path, orders: Orders, embedder: HashEmbedder) -> Iterator[Library]:
    place = tmp_path / "watched"
    with Library(place, embedder, open_index=partial(Watched, place / "index", orders)) as opened:
        yield opened


def sources(library: Library, query: str) -> set[str]:
    return {found.chunk.source for found in library.search(query, 20)}


def test_what_was_deleted_is_not_found_though_the_index_still_has_it(
    watched: Library, fill: Fill, orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = fill(watched, "alpha")
    fill(watched, "beta")
    watched.refresh_index()
    # As if another process had just deleted it, and the index had not heard of it.
    monkeypatch.setattr(index_sync.IndexSync, "_ensure_current", lambda self, index, generation, patience: index)
    watched.documents.delete(gone.id)
    assert sources(watched, "alpha") == {"beta.pdf"}


def test_words_and_vectors_of_what_was_deleted_leave_the_files(watched: Library, fill: Fill) -> None:
    gone, kept = fill(watched, "alpha"), fill(watched, "beta")
    watched.refresh_index()
    folder = watched.folder / "index"
    theirs = [watched.points.vectors(np.array([number])).tobytes() for number in (1, 5)]
    assert (gone.chunks, kept.chunks) == (4, 4)

    def held() -> list[bool]:
        words = Lexical.open(folder / "words").searcher().searcher
        file = (folder / "vectors.faiss").read_bytes()
        return [bool(words.terms_with_prefix("words", word)) for word in ("alpha", "beta")] + [
            vector in file for vector in theirs
        ]

    assert held() == [True, True, True, True]
    watched.documents.delete(gone.id)
    watched.rest()  # What would be done in a moment is done now.
    assert held() == [False, True, False, True]


def test_what_came_after_the_file_was_written_is_read_from_the_records(
    watched: Library, fill: Fill, orders: Orders
) -> None:
    fill(watched, "alpha")
    watched.refresh_index()
    fill(watched, "beta")
    assert sources(watched, "beta") == {"alpha.pdf", "beta.pdf"}
    watched.rest()
    orders.added.clear()
    assert sources(watched, "beta") == {"alpha.pdf", "beta.pdf"}
    assert (orders.added, orders.cleared) == ([2], 1), "and no more than that"
    assert not watched.verify()


def test_an_index_that_is_down_is_said_and_left_alone_for_a_while(
    tmp_path: Path, fill: Fill, orders: Orders, embedder: HashEmbedder
) -> None:
    clock = FakeClock()
    place = tmp_path / "down"
    library = Library(place, embedder, open_index=partial(Watched, place / "index", orders))
    library._upkeep._clock = clock
    fill(library, "alpha")
    orders.down = True
    for _ in range(3):
        with pytest.raises(IndexUnavailableError, match="does not answer"):
            library.search("alpha", 3)
    assert orders.opened == 1, "asked once, not with every search"
    assert {found.chunk.source for found in library.find_in_records(SearchQuery("alpha", 3))} == {"alpha.pdf"}
    orders.down = False
    with pytest.raises(IndexUnavailableError):
        library.search("alpha", 3)
    clock.ahead += index_sync._REST + 1
    assert sources(library, "alpha") == {"alpha.pdf"}
    library.close()


def test_one_process_at_a_time_brings_an_index_up_to_date(
    tmp_path: Path,
    fill: Fill,
    orders: Orders,
    embedder: HashEmbedder,
    server: Server | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place, stop = tmp_path / "shared", threading.Event()
    watching = partial(Watched, place / "index", orders)
    with (
        Library(place, embedder, server=server) as one,
        Library(place, embedder, server=server, open_index=watching) as other,
    ):
        fill(one, "alpha")
        with one._database.place.alone(stop) as ours, monkeypatch.context() as patched:
            assert ours
            patched.setattr(index_sync, "_PATIENCE", 0.01)
            with pytest.raises(IndexUnavailableError, match=r"is being made\."):
                other.search("alpha", 3)
            assert not orders.added and not orders.cleared, "it waits for its turn"
            stop.set()
            with other._database.place.alone(stop) as ours:
                assert not ours
        assert sources(other, "alpha") == {"alpha.pdf"}
        assert orders.added == [1]
        one.refresh_index()
        other.refresh_index()
        assert orders.added == [1], "what another did is not done again"


def test_an_index_that_lost_chunks_or_holds_foreign_ones_is_mended(
    watched: Library, fill: Fill, orders: Orders
) -> None:
    fill(watched, "alpha")
    fill(watched, "beta")
    watched.refresh_index()
    index = watched._upkeep._index
    assert index is not None
    index.delete([1])
    foreign = Batch(
        document=9, numbers=np.array([77]), vectors=np.ones((1, 64), np.float32) / 8, contexts=[""], texts=["x"]
    )
    index.add([foreign])
    index.commit(index.generation)
    found = watched.verify()
    assert found.missing.tolist() == [1, 2, 3, 4] and found.foreign.tolist() == [77]
    assert watched.verify(repair=True)
    assert not watched.verify()
    assert sources(watched, "alpha") == {"alpha.pdf", "beta.pdf"}


def test_what_is_found_while_an_index_is_emptied_and_filled_again_is_looked_for_again(
    watched: Library, fill: Fill, orders: Orders
) -> None:
    fill(watched, "alpha")
    other = fill(watched, "beta")
    watched.search("alpha", 3)
    beside = threading.Thread(target=watched.search, args=("alpha", 3))

    def empty_it() -> None:
        cleared = orders.cleared
        orders.may_add.clear()
        watched.documents.delete(other.id)
        beside.start()
        while orders.cleared == cleared:
            time.sleep(0.01)

    orders.around.append((empty_it, orders.may_add.set))
    assert sources(watched, "alpha") == {"alpha.pdf"}
    beside.join(60)


def test_an_index_ahead_of_a_reader_is_good_enough(watched: Library, fill: Fill) -> None:
    fill(watched, "alpha")
    watched.refresh_index()
    with watched._database.read() as early:
        assert not store.empty(early), "the first look is what a transaction sees from then on"
        fill(watched, "beta")
        watched.refresh_index()
        query, vector = SearchQuery("beta", 9), embed_question(watched.embedder, "beta")
        found = watched._search._through_index(early, store.meta(early), query, vector, None)
    assert {each.chunk.source for each in found} == {"alpha.pdf"}
