"""A chunk index in Milvus: the contract, over Milvus Lite by path and over a server, and what is its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")

from crag.index.chunk_index import Contents
from crag.index.milvus import MilvusIndex
from crag.testing.index_contract import ChunkIndexContract
from tests.support.milvus_server import MilvusServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as started:
        yield started


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
