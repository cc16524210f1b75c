"""A Milvus that is down, slow, or came back empty, and two app servers at once: the records stay the truth."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.core.protocols import SearchQuery

pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")

from crag.core.errors import IndexUnavailableError
from crag.core.types import Document
from crag.index.milvus import MilvusIndex
from crag.storage import index_sync
from crag.storage.library import Library
from crag.storage.postgres import Server
from tests.support.library_makers import HashEmbedder, index_at
from tests.support.milvus_faults import faulty_server, hangs
from tests.support.milvus_server import MilvusServer
from tests.support.shell import line_of, started
from tests.support.sizes import sized

Fill = Callable[..., Document]
STEPS = sized(60, 10)
pytestmark = [
    pytest.mark.parametrize("records", [pytest.param("sqlite", marks=pytest.mark.heavy), "postgresql"]),
    pytest.mark.slow,
]


@pytest.fixture(autouse=True)
def asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_sync, "_REST", 0.0)


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as started:
        yield started


@pytest.fixture
def milvus(one_server: MilvusServer) -> MilvusServer:
    """The server of all tests here, which runs: one that left it killed has failed."""
    if one_server.process is None:
        one_server.start()
    return one_server


@pytest.fixture
def library(tmp_path: Path, embedder: HashEmbedder, server: Server | None, milvus: MilvusServer) -> Iterator[Library]:
    with Library(tmp_path / "library", embedder, server=server, open_index=index_at(milvus.uri)) as opened:
        yield opened


def by_index(library: Library, query: str) -> set[str]:
    return {found.chunk.source for found in library.search(query, 20)}


def by_records(library: Library, query: str) -> set[str]:
    return {found.chunk.source for found in library.find_in_records(SearchQuery(query, 20))}


def test_what_changes_while_milvus_is_down_is_found_in_the_records_and_then_in_milvus(
    library: Library, fill: Fill, milvus: MilvusServer
) -> None:
    gone = fill(library, "alpha")
    fill(library, "beta")
    assert by_index(library, "alpha") == {"alpha.pdf", "beta.pdf"}
    milvus.kill()
    fill(library, "gamma")
    library.documents.delete(gone.id)
    with pytest.raises(IndexUnavailableError, match="Milvus can't be reached"):
        library.search("gamma", 5)
    assert by_records(library, "alpha gamma harbour") == {"beta.pdf", "gamma.pdf"}
    milvus.start()
    assert by_index(library, "alpha") == {"beta.pdf", "gamma.pdf"}, "what was deleted not even by the first search"
    assert not library.verify()


def test_a_milvus_that_came_back_empty_is_filled_again_and_search_says_so(
    library: Library,
    fill: Fill,
    milvus: MilvusServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(library, "alpha")
    library.documents.delete(fill(library, "beta").id)
    assert by_index(library, "alpha") == {"alpha.pdf"}
    milvus.kill()
    milvus.folder = tmp_path_factory.mktemp("fresh")  # which the tests after this one use, too
    milvus.start()
    with monkeypatch.context() as patched:
        patched.setattr(index_sync, "_PATIENCE", 0.0)
        with pytest.raises(IndexUnavailableError, match="is being made"):
            library.search("alpha", 5)
        assert by_records(library, "alpha") == {"alpha.pdf"}
    assert by_index(library, "alpha beta") == {"alpha.pdf"}
    assert not library.verify()


def test_a_milvus_that_is_slow_is_waited_for_no_longer_than_its_time(
    tmp_path: Path, embedder: HashEmbedder, server: Server | None, fill: Fill
) -> None:
    answering = threading.Event()
    with (
        faulty_server(tmp_path / "slow") as slow,
        Library(
            tmp_path / "library",
            embedder,
            server=server,
            open_index=lambda contents: MilvusIndex(slow.uri, contents, timeout=2.0),
        ) as library,
    ):
        gone = fill(library, "alpha")
        fill(library, "beta")
        assert by_index(library, "alpha") == {"alpha.pdf", "beta.pdf"}
        slow.of = {"HybridSearch": hangs(answering), "Query": hangs(answering)}
        with pytest.raises(IndexUnavailableError, match="did not answer within 2 seconds"):
            library.search("alpha", 5)
        library.documents.delete(gone.id)
        assert by_records(library, "alpha harbour") == {"beta.pdf"}
        answering.set()
        slow.of = {}
        assert by_index(library, "alpha") == {"beta.pdf"}
        assert not library.verify()


def test_two_processes_that_change_one_library_end_in_the_same_state(
    tmp_path: Path, embedder: HashEmbedder, server: Server | None, url: str, milvus: MilvusServer
) -> None:
    command = ["-m", "tests.support.changing_child", tmp_path / "library"]
    children = [
        started(*command, prefix, url, milvus.uri, STEPS, stderr=subprocess.PIPE) for prefix in ("left", "right")
    ]
    try:
        for child in children:
            if line_of(child) != "done\n":
                pytest.fail(child.communicate()[1])
        said = [child.communicate("both are\n", timeout=60) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert said == [("0 0\n", "")] * 2, "missing and foreign chunks, as each of them sees it"
    with Library(tmp_path / "library", embedder, server=server, open_index=index_at(milvus.uri)) as library:
        assert not library.verify()
        assert all(document.name in by_index(library, document.title) for document in library.documents.all())
