"""A chunk index in Milvus: the contract, over Milvus Lite by path and over a server, and what is its own."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.index.chunk_index import Batch

pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")

import numpy as np

from crag.index.chunk_index import Contents
from crag.index.milvus import MilvusIndex
from tests.index.index_contract import ChunkIndexContract, batch, lexical, unit
from tests.support.milvus_server import MilvusServer
from tests.support.sizes import sized


@pytest.fixture
def server(milvus_server: MilvusServer) -> MilvusServer:
    return milvus_server


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of Milvus Lite that stays open while the tests of this module run."""
    place = tmp_path_factory.mktemp("lite") / "chunks.db"
    held = MilvusIndex(str(place), Contents(library="0" * 32, model="test", dimension=16))
    yield place
    held.close()


class TestLiteByPath(ChunkIndexContract):
    """All tests share one collection, as workspaces do."""

    @pytest.fixture(autouse=True)
    def _place(self, path: Path) -> None:
        self.uri = str(path)

    def make(self, contents: Contents) -> MilvusIndex:
        return MilvusIndex(self.uri, contents)


class TestServer(ChunkIndexContract):
    @pytest.fixture(autouse=True)
    def _place(self, server: MilvusServer) -> None:
        self.uri = server.uri

    def make(self, contents: Contents) -> MilvusIndex:
        return MilvusIndex(self.uri, contents)


@pytest.fixture
def index(server: MilvusServer) -> Iterator[MilvusIndex]:
    made = MilvusIndex(server.uri, contents())
    yield made
    made.close()


def contents() -> Contents:
    return Contents(library=secrets.token_hex(16), model="test/1", dimension=16)


@pytest.mark.slow
def test_twenty_workspaces_of_one_collection_see_nothing_of_each_other(server: MilvusServer) -> None:
    """All hold the same documents, numbers, words and vectors, as far as they have them."""
    spaces = [MilvusIndex(server.uri, contents()) for _ in range(20)]
    for at, space in enumerate(spaces):
        space.add([batch(1, 1, ["a glacier", "a turbine"]), batch(2, 3, ["a glacier"] * at)] if at else [])
        space.commit(at)
    spaces[7].delete([1])
    spaces[7].commit(100)
    spaces[8].clear()
    for at, space in enumerate(spaces):
        own = {7: list(range(3, 10)), 8: []}.get(at, list(range(1, 3 + at)) if at else [])
        assert space.numbers().tolist() == own
        found = space.top(unit(2, seed=1)[0], [["glacier"]], 50)
        assert sorted(found.numbers.tolist()) == own
        assert space.top(unit(), [["glacier"]], 50, np.array([2])).numbers.max(initial=0) <= max(own, default=0)
        assert (space.size, space.generation) == (len(own), {7: 100, 8: -1}.get(at, at))
        space.close()


def test_forged_numbers_reach_nobody_else(server: MilvusServer, index: MilvusIndex) -> None:
    """What a caller gives as document numbers becomes numbers, or fails: never part of a filter."""
    other = MilvusIndex(server.uri, contents())
    other.add([batch(1, 1, ["glacier"])])
    other.commit(1)
    for forged in (["1] or workspace != ''"], ["1 or 1 == 1"], ["1; drop"], [None]):
        with pytest.raises((TypeError, ValueError)):
            index.delete(forged)
        with pytest.raises((TypeError, ValueError)):
            index.top(unit(), [["glacier"]], 5, np.array(forged, dtype=object))
    index.delete([1, -1, 2**62])
    index.commit(2)
    assert not len(index.top(unit(), [["glacier"]], 5).numbers)
    assert (other.generation, other.numbers().tolist()) == (1, [1])
    other.close()


@pytest.mark.slow
def test_ten_thousand_documents_can_be_asked_for(index: MilvusIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crag.index.milvus._MOST_DOCUMENTS", sized(10_000, 1_000))
    index.add([batch(document, 10 * document, ["a glacier", "a turbine"]) for document in range(1, 41)])
    index.commit(1)
    asked = np.concatenate([np.arange(1, 21), np.arange(1_000, sized(13_000, 2_500))])
    found = index.top(unit(), [["glacier"]], 100, asked)
    assert sorted(found.numbers.tolist()) == sorted([10 * n for n in range(1, 21)] + [10 * n + 1 for n in range(1, 21)])
    assert sorted(lexical(found)) == [10 * n for n in range(1, 21)]
    assert not len(index.top(unit(), [["glacier"]], 100, asked[20:]).numbers)
    index.delete(asked.tolist())
    index.commit(2)
    assert index.numbers().tolist() == [10 * n + at for n in range(21, 41) for at in range(2)]


@pytest.mark.slow
def test_what_a_commit_of_another_process_brought_is_found_at_once(server: MilvusServer, index: MilvusIndex) -> None:
    mine = index.__dict__["_key"].partition(".")[0]
    index.add([batch(1, 1, ["a glacier"])])
    index.commit(1)
    program = (
        "from crag.index.chunk_index import Contents; from crag.index.milvus import MilvusIndex;"
        "from tests.index.index_contract import batch, lexical, unit;"
        f"index = MilvusIndex({server.uri!r}, Contents(library={mine!r}, model='test/1', dimension=16));"
        "print(index.generation, lexical(index.top(unit(), [['glacier']], 5)));"
        "index.add([batch(2, 5, ['another glacier'])]); index.delete([1]); index.commit(2); index.close()"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split("\n")[0] == "1 [1]"
    assert index.generation == 2
    assert lexical(index.top(unit(), [["glacier"]], 5)) == [5]


def test_more_than_memory_should_hold_is_sent_before_the_commit(
    index: MilvusIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crag.index.milvus._MOST_WAITING", 10)
    monkeypatch.setattr("crag.index.milvus._ROWS", 4)
    monkeypatch.setattr("crag.index.milvus._PAGE", 5)
    for document in range(1, 6):
        index.add([batch(document, 10 * document, ["a glacier"] * 6)])
    assert index.generation == -1
    index.delete([2])
    index.add([batch(6, 60, ["a turbine"])])
    index.commit(6)
    assert index.numbers().tolist() == [10 * d + n for d in (1, 3, 4, 5) for n in range(6)] + [60]
    assert (index.generation, index.size) == (6, 25)


def test_what_is_found_by_both_comes_once_and_cosines_are_left_to_the_records(index: MilvusIndex) -> None:
    vectors = unit(300, seed=3)
    numbers = np.arange(300, dtype=np.int64)
    index.add([Batch(document=1, numbers=numbers, vectors=vectors, contexts=[""] * 300, texts=["word"] * 300)])
    index.commit(1)
    found = index.top(vectors[5], [["word"]], 50)
    assert set(np.argsort(-(vectors @ vectors[5]))[:50]) <= set(found.numbers.tolist())
    assert 50 <= len(found.numbers) == len(set(found.numbers.tolist())) <= 100
    assert len(lexical(found)) == 50 and np.isnan(found.dense).all()
