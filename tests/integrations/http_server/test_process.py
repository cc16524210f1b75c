"""A server process, asked by clients that nobody here wrote, and ended."""

import http.client
import json
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import cohere
import httpx
import pytest
from pydantic import SecretStr

from crag.providers.endpoint import Endpoint
from crag.providers.rerank import Reranker
from crag.runtime.usage import UsageTracker
from tests.support.http_server import HELD, OTHER, TOKEN, HttpServer, http_server
from tests.support.small_library import TEXTS, spread

pytestmark = pytest.mark.slow

AS_ALPHA = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("server"), "--rate", "0") as started:
        yield started


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every address that this process connects to."""
    found: list[object] = []
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def noted(self: socket.socket, address: tuple[str, int]) -> None:
        found.append(address[0])
        connect(self, address)

    def looked_up(host: str, *more: object, **named: object) -> object:
        found.append(host)
        return resolve(host, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", noted)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    return found


def test_a_connection_outlasts_what_clients_keep_silent(server: HttpServer) -> None:
    """httpx keeps a connection for five seconds; closed then, a request that is just sent on it would fail."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.connect()
    used = connection.sock
    for silent in (6, 0):
        connection.request("GET", "/healthz")
        with connection.getresponse() as reply:
            assert reply.status == 200 and reply.read() == b'{"status":"ok"}'
        time.sleep(silent)
    assert connection.sock is used, "it was not opened a second time"
    connection.close()


def test_coheres_client_reranks(server: HttpServer, connected: list[object]) -> None:
    best = sorted(range(4), key=lambda place: -spread(TEXTS[place]))
    two = cohere.ClientV2(api_key=TOKEN, base_url=server.url)
    found = two.rerank(model="crag-rerank", query="hiring", documents=TEXTS, top_n=3)
    assert [each.index for each in found.results] == best[:3]
    assert [each.relevance_score for each in found.results] == [spread(TEXTS[place]) for place in best[:3]]
    one = cohere.Client(api_key=TOKEN, base_url=server.url)
    old = one.rerank(model="crag-rerank", query="hiring", documents=[{"text": text} for text in TEXTS])
    assert [each.index for each in old.results] == best
    with pytest.raises(cohere.errors.UnauthorizedError, match="valid token"):
        cohere.ClientV2(api_key="wrong", base_url=server.url).rerank(model="m", query="q", documents=["a"])
    with pytest.raises(cohere.errors.NotFoundError, match="crag-rerank"):
        two.rerank(model="rerank-v3.5", query="q", documents=["a"])
    assert set(connected) == {"127.0.0.1"}


def test_our_own_reranking_client_reads_the_scores(server: HttpServer) -> None:
    base = f"{server.url}/v1"
    place = Endpoint(provider="reranker", model="crag-rerank", base_url=base, key=SecretStr(TOKEN))
    assert Reranker(place, UsageTracker()).rerank("hiring", TEXTS) == [spread(text) for text in TEXTS]


def test_a_client_that_goes_in_the_middle_leaves_nothing_behind(server: HttpServer) -> None:
    for path in ("/v1/rerank", "/v1/documents"):
        for _ in range(12):  # more than may be worked on at once
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                raw.sendall(_head(path, 1_000) + b'{"query": "q"')
    with httpx.Client(base_url=server.url, headers=AS_ALPHA) as client:
        reply = client.post("/v1/rerank", json={"query": "q", "documents": ["a"]}, timeout=30)
        assert reply.status_code == 200
        assert client.get("/v1/documents").json()["total"] == 0


def test_many_at_once_are_answered_or_told_to_come_again(server: HttpServer) -> None:
    body = json.dumps({"query": "q", "documents": TEXTS}).encode()

    def ask(number: int) -> int:
        headers = {"Authorization": f"Bearer {(TOKEN, OTHER)[number % 2]}", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{server.url}/v1/rerank", body, headers)) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            assert json.load(error)["error"]["code"] == "busy"
            assert int(error.headers["Retry-After"]) >= 1
            return error.code

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, range(20))) == [200] * 20
    with ThreadPoolExecutor(200) as pool:
        assert set(pool.map(ask, range(200))) <= {200, 503}
    assert ask(0) == 200


def test_told_to_end_it_finishes_what_is_under_way(server: HttpServer) -> None:
    """The last one here: the module's server ends by it."""
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=server.url, headers=AS_ALPHA, timeout=60) as client:
        reply = pool.submit(client.post, "/v1/rerank", json={"query": "q", "documents": [HELD]})
        server.said("held")
        server.process.send_signal(signal.SIGTERM)
        _await_closed(server.port)
        server.release()
        assert reply.result().status_code == 200
    assert server.process.wait(60) == 0


@pytest.mark.heavy
def test_what_goes_on_for_too_long_is_stopped_and_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("stopped")
    with (
        http_server(data, "--grace", "0", "--workspace", "mine", tokens=False) as server,
        ThreadPoolExecutor(1) as pool,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        reply = pool.submit(client.post, "/v1/rerank", json={"query": "q", "documents": [HELD, *["a"] * 100]})
        server.said("held")
        server.process.send_signal(signal.SIGTERM)
        server.said("stopping 1 request")
        server.release()
        assert reply.result().status_code == 503 and reply.result().json()["error"]["code"] == "stopped"
        assert server.process.wait(60) == 0


def _head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def _await_closed(port: int) -> None:
    """Until nobody listens there any more."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return
