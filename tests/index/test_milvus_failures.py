"""What a person is told when Milvus fails: each failure in words that hold no token, and the way back from it."""

import base64
import logging
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")

import grpc
from pymilvus import DataType, MilvusClient

from crag.core.errors import IndexUnavailableError, SettingsError
from crag.index.chunk_index import Contents
from crag.index.milvus import MilvusIndex
from tests.index.index_contract import batch, lexical, unit
from tests.support.milvus_faults import Fault, Faults, aborts, faulty_server, hangs, refuses, version
from tests.support.milvus_server import MilvusServer
from tests.support.other_programs import free_port
from tests.support.shell import line_of, started

TOKEN = "owner:very-secret"
SECONDS = 2
"""That a server has which hangs or is gone: long enough for a whole one beside four busy workers."""


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[Faults]:
    with faulty_server(tmp_path / "faulty") as server:
        yield server


@pytest.fixture
def open_index() -> Iterator[Callable[..., MilvusIndex]]:
    opened: list[MilvusIndex] = []

    def make(uri: str, *, timeout: float = 10.0, token: str = TOKEN, dimension: int = 16) -> MilvusIndex:
        contents = Contents(library=secrets.token_hex(16), model="test/1", dimension=dimension)
        opened.append(MilvusIndex(uri, contents, token=token, timeout=timeout))
        return opened[-1]

    yield make
    for index in opened:
        index.close()


def told(ask: Callable[[], object]) -> str:
    """What a person reads of the failure: no address, no token."""
    with pytest.raises(IndexUnavailableError) as raised:
        ask()
    text = f"{raised.value} {raised.value!r}"
    assert "secret" not in text and "127.0.0.1" not in text
    return str(raised.value)


@pytest.mark.parametrize(
    "uri",
    ["", "milvus", "ftp://host", "http://", "http://host:port", "file.txt", "http://host:99999", "javascript:alert(1)"],
)
def test_what_is_no_address_is_refused(uri: str, open_index: Callable[..., MilvusIndex]) -> None:
    with pytest.raises(SettingsError, match=r"http://host:19530"):
        open_index(uri)


def test_a_password_in_the_address_is_refused_and_not_repeated(open_index: Callable[..., MilvusIndex]) -> None:
    with pytest.raises(SettingsError, match="CRAG_MILVUS_TOKEN") as raised:
        open_index("http://owner:very-secret@host:19530")
    assert "secret" not in str(raised.value)


def test_a_library_s_id_is_checked() -> None:
    for library in ("", "x", '" or 1 == 1', "A" * 32, "0" * 65, "../" * 8, "0" * 31 + "\n"):
        with pytest.raises(ValueError, match="hexadecimal"):
            MilvusIndex("http://127.0.0.1:1", Contents(library=library, model="test", dimension=16))


def test_no_server_is_told_by_every_method(open_index: Callable[..., MilvusIndex]) -> None:
    index = open_index(f"http://127.0.0.1:{free_port()}")
    index.add([batch(1, 1, ["glacier"])])
    calls: list[Callable[[], object]] = [
        *(lambda: index.generation, lambda: index.size, index.numbers, index.clear),
        *(lambda: index.commit(1), lambda: index.top(unit(), [["glacier"]], 3)),
    ]
    for call in calls:
        assert "can't be reached" in told(call)


def test_a_client_that_is_not_installed_is_named(
    open_index: Callable[..., MilvusIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    index = open_index("http://127.0.0.1:19530")
    assert "pip install" in told(lambda: index.generation)
    assert "pip install" in told(lambda: index.top(unit(), [["glacier"]], 3))


def test_an_older_server_is_refused(faults: Faults, open_index: Callable[..., MilvusIndex]) -> None:
    faults.of["GetVersion"] = version("v2.4.17-dev")
    said = told(lambda: open_index(faults.uri).generation)
    assert "2.4" in said and "2.6 or later" in said


@pytest.mark.parametrize("method", ["Connect", "DescribeCollection"])
def test_a_token_that_is_refused_is_told_and_kept_to_itself(
    method: str, faults: Faults, open_index: Callable[..., MilvusIndex], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    faults.of[method] = aborts(grpc.StatusCode.UNAUTHENTICATED, f"auth check failure for {TOKEN}")
    index = open_index(faults.uri)
    assert "refuses the token" in told(lambda: index.generation)
    assert base64.b64encode(TOKEN.encode()).decode() in faults.tokens, "it was sent"
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("crag")]
    assert not any("secret" in line for line in ours) and "secret" not in repr(index)


def test_a_server_that_hangs_is_given_up_and_used_again(faults: Faults, open_index: Callable[..., MilvusIndex]) -> None:
    index, over = open_index(faults.uri, timeout=SECONDS), threading.Event()
    index.add([batch(1, 1, ["glacier"])])
    index.commit(1)
    faults.of["HybridSearch"] = hangs(over)
    try:
        assert f"did not answer within {SECONDS} seconds" in told(lambda: index.top(unit(), [["glacier"]], 3))
    finally:
        over.set()
    del faults.of["HybridSearch"]
    assert lexical(index.top(unit(), [["glacier"]], 3)) == [1]


@pytest.mark.parametrize(
    ("method", "fault", "words"),
    [
        ("Upsert", refuses(9, "quota exceeded[reason=disk quota exceeded]"), "takes no more"),
        ("Upsert", refuses(1, "write /var/lib/milvus/x: no space left on device"), "takes no more"),
        ("Upsert", aborts(grpc.StatusCode.INTERNAL, "panic at /go/src/milvus.go"), "failed"),
        ("Delete", refuses(65535, "what nobody foresaw"), "failed"),
    ],
)
def test_what_could_not_be_written_is_written_by_the_next_commit(
    method: str, fault: Fault, words: str, faults: Faults, open_index: Callable[..., MilvusIndex]
) -> None:
    index = open_index(faults.uri, timeout=SECONDS)
    index.add([batch(1, 1, ["glacier"])])
    index.commit(1)
    index.delete([1])
    index.add([batch(2, 2, ["turbine"])])
    faults.of[method] = fault
    said = told(lambda: index.commit(2))
    assert words in said and "/" not in said
    assert index.generation == 1
    del faults.of[method]
    index.commit(2)
    assert (index.generation, index.numbers().tolist()) == (2, [2])


def test_a_collection_of_another_program_is_left_alone(faults: Faults, open_index: Callable[..., MilvusIndex]) -> None:
    client = MilvusClient(faults.uri, dedicated=True)
    client.create_collection("crag_chunks_16", dimension=16)
    index = open_index(faults.uri)
    index.add([batch(1, 1, ["glacier"])])
    for call in (lambda: index.generation, lambda: index.commit(1), index.clear):
        assert "is not this program's" in told(call)
    assert client.describe_collection("crag_chunks_16")["fields"][0]["type"] == DataType.INT64
    client.close()


def test_a_cloud_that_takes_no_index_of_that_kind_gets_another(
    faults: Faults, open_index: Callable[..., MilvusIndex]
) -> None:
    from pymilvus.grpc_gen import common_pb2

    refused: list[bool] = []

    def once(context: grpc.ServicerContext) -> common_pb2.Status:
        refused.append(True)
        del faults.of["CreateIndex"]
        return common_pb2.Status(code=1100, reason="invalid index type: HNSW")

    faults.of["CreateIndex"] = once
    index = open_index(faults.uri)
    index.add([batch(1, 1, ["glacier"])])
    index.commit(1)
    assert refused and index.top(unit(), [["glacier"]], 1).numbers.tolist() == [1]
    client = MilvusClient(faults.uri, dedicated=True)
    assert client.describe_index("crag_chunks_16", "vector")["index_type"] == "AUTOINDEX"
    client.close()


@pytest.mark.slow
def test_a_file_of_milvus_lite_is_for_one_process(tmp_path: Path, open_index: Callable[..., MilvusIndex]) -> None:
    path = tmp_path / "deep" / "chunks.db"
    program = (
        "import sys; from crag.index.chunk_index import Contents; from crag.index.milvus import MilvusIndex;"
        f"index = MilvusIndex({str(path)!r}, Contents(library='0' * 32, model='m', dimension=16));"
        "index.commit(1); print('held', flush=True); sys.stdin.read(); index.close()"
    )
    with started("-c", program) as other:
        assert line_of(other) == "held\n"
        index = open_index(str(path))
        said = told(lambda: index.generation)
        assert "another process uses it" in said and str(tmp_path) not in said
    assert other.returncode == 0
    assert index.generation == -1, "it can be opened once the other has let go"
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5], ids=["empty", "half"])
def test_an_index_that_a_kill_left_half_written_is_built_again(
    share: float, tmp_path: Path, open_index: Callable[..., MilvusIndex], caplog: pytest.LogCaptureFixture
) -> None:
    """Milvus Lite writes it in place, in the background, and never reads it again: every search would fail for good."""
    with MilvusServer(tmp_path / "data") as server:
        index = open_index(server.uri)
        index.add([batch(1, 1, ["glacier", "turbine"])])
        index.commit(7)
        MilvusClient(server.uri, dedicated=True).release_collection("crag_chunks_16")
        assert lexical(index.top(unit(), [["glacier"]], 3)) == [1], "loaded again: by then the index is written"
        server.kill()
        written = list((tmp_path / "data").rglob("*.idx"))
        assert written
        for file in written:
            file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
        server.start()
        assert (index.generation, index.numbers().tolist()) == (7, [1, 2])
        assert "built again" in caplog.text
        vector = batch(1, 1, ["glacier", "turbine"]).vectors[1]
        assert set(index.top(vector, [["glacier"]], 3).numbers.tolist()) == {1, 2}
        server.kill()
        caplog.clear()
        server.start()
        index.commit(8)
        assert (index.generation, index.size) == (8, 2) and "built again" not in caplog.text


@pytest.mark.slow
def test_a_killed_server_is_told_and_used_again_with_all_that_was_committed(
    tmp_path: Path, open_index: Callable[..., MilvusIndex]
) -> None:
    server = MilvusServer(tmp_path / "data")
    with server:
        index = open_index(server.uri, timeout=SECONDS)
        index.add([batch(1, 1, ["glacier", "turbine"])])
        index.commit(7)
        index.add([batch(2, 3, ["dividend"])])
        server.kill()
        told(lambda: index.commit(8))
        assert "can't be reached" in told(lambda: index.top(unit(), [["glacier"]], 3))
        server.start()
        assert (index.generation, index.numbers().tolist()) == (7, [1, 2])
        assert lexical(index.top(unit(), [["glacier"]], 3)) == [1]
        index.commit(8)
        assert (index.generation, index.numbers().tolist()) == (8, [1, 2, 3])
        server.kill()
        server.folder = tmp_path / "empty"
        server.start()
        index.add([batch(3, 4, ["a runway"])])
        assert "no longer holds" in told(lambda: index.commit(9)), "it would say that one document is the library"
        assert (index.generation, index.size) == (-1, 0)
        assert not len(index.top(unit(), [["glacier"]], 3).numbers)
        index.clear()
        index.add([batch(1, 1, ["glacier"])])
        index.commit(9)
        assert lexical(index.top(unit(), [["glacier"]], 3)) == [1]
