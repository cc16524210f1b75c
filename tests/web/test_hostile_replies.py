"""What servers of models, scores, searches and pages may send without end: little of it is read, and it is said so."""

import asyncio
import gzip
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial

import httpx
import pytest
from pydantic import BaseModel, SecretStr

from crag.core.errors import CragError, ProviderError, ReplyError, UnreachableError, WebSearchError
from crag.core.types import WebPage
from crag.providers.chat import ChatModel, MeteredChat
from crag.providers.discovery import list_models
from crag.providers.endpoint import Endpoint
from crag.providers.registry import webs
from crag.providers.rerank import Reranker
from crag.runtime.connection import MAX_REPLY, BoundedClient, OversizedError, PackingError
from crag.runtime.provider import WebParts
from crag.runtime.usage import Budget, UsageTracker
from crag.runtime.waiting import CLOCK, Clock
from crag.testing.fakes import FakeClock
from crag.web.fetching import PageFetcher
from tests.support.sizes import thinned
from tests.support.web_server import Reply, Request, Server, serving

KEY = SecretStr("key-of-the-tests")
HELLO = [("human", "Say hello.")]
SECONDS = 2.0
"""That a run has for a reply that takes long to read."""


class Score(BaseModel):
    score: float


def place(server: Server) -> Endpoint:
    return Endpoint(provider="openai-compatible", model="m", base_url=server.address, key=KEY)


def metered(seconds: float = 5.0, clock: Clock = CLOCK) -> UsageTracker:
    return UsageTracker(Budget(calls=5, seconds=seconds), clock=clock)


def chat(server: Server, meter: UsageTracker) -> MeteredChat:
    return ChatModel(place(server)).metered(meter)


def page_of(server: Server, meter: UsageTracker) -> None:
    """Fetches a page; why there is none is raised as the others raise it."""
    page = WebPage(id="1", url=f"{server.address}/page", title="A result", text="", provider="p", query="q", rank=1)
    [found], [problem] = PageFetcher(trusted=[server.place], clock=meter.clock).fetched(
        [page], seconds=meter.left(), cancel=meter.cancel
    )
    assert found == page
    raise WebSearchError(problem.why)


OUTSIDE = [each.name for each in webs().values() if each.leaves]


def searched(name: str, server: Server, meter: UsageTracker) -> None:
    parts = WebParts(meter=meter, key=KEY, address=server.address)
    webs()[name].make(parts).search("q", 3)


CALLS: dict[str, Callable[[Server, UsageTracker], object]] = {
    "whole": lambda server, meter: chat(server, meter).text(HELLO, max_tokens=5),
    "object": lambda server, meter: chat(server, meter).parsed(Score, HELLO, max_tokens=5),
    "stream": lambda server, meter: list(chat(server, meter).written(HELLO, max_tokens=5)),
    "scores": lambda server, meter: Reranker(place(server), meter).rerank("q", ["a"]),
    "models": lambda server, meter: list_models(place(server)),
    **{name: partial(searched, name) for name in OUTSIDE},
    "page": page_of,
}
KINDS = {"stream": "text/event-stream", "duckduckgo": "text/html", "page": "text/html"}


@pytest.fixture(scope="module")
def running(traced: None) -> Iterator[Server]:
    with serving(lambda request: Reply()) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.anew(lambda request: Reply())
    return running


@pytest.fixture(scope="module", autouse=True)
def traced() -> Iterator[None]:
    """Memory is traced from here to the end of the module, when all that a first call loads is loaded.

    It is never stopped in between: until Python 3.12.9 that crashes the process while a thread of native code, such as
    those of DuckDuckGo's client after its call was given up, enters the interpreter.
    """
    with serving(lambda request: Reply(status=500)) as server:
        for call in CALLS.values():
            with pytest.raises(ProviderError):
                call(server, metered(20))
    tracemalloc.start()
    yield
    tracemalloc.stop()


def failed(call: str, server: Server, meter: UsageTracker | None = None) -> tuple[CragError, int]:
    """How a call failed, and the most memory that it held meanwhile."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with pytest.raises(ProviderError) as caught:
        CALLS[call](server, meter or metered())
    return caught.value, tracemalloc.get_traced_memory()[1] - before


@cache
def packed(size: int, unit: bytes = b" ") -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = unit * (1_000_000 // len(unit))
    return b"".join([*(packer.compress(block) for _ in range(size // 1_000_000)), packer.flush()])


@pytest.mark.parametrize("call", thinned(CALLS, 3))
class TestSize:
    """None of them reads more than a little of what has no end."""

    def test_a_bomb_does_not_unfold(self, server: Server, call: str) -> None:
        bomb, kind = packed(100_000_000), KINDS.get(call, "application/json")
        server.answer = lambda request: Reply(kind=kind, body=bomb, headers={"Content-Encoding": "gzip"})
        error, most = failed(call, server, metered(60))  # its size ends it, also on a busy machine
        assert " MB" in error.message and error.remedy
        assert most < 5 * MAX_REPLY

    @pytest.mark.parametrize("unit", [b" ", b"data: {}\n\n"], ids=ascii)
    def test_a_stream_without_end_is_left(self, server: Server, call: str, unit: bytes) -> None:
        kind = KINDS.get(call, "application/json")
        server.answer = lambda request: Reply(kind=kind, body=unit * (65_536 // len(unit)), ends="endless")
        error, most = failed(call, server, metered(SECONDS))
        assert server.left.wait(60), "the connection is closed while the server still sends"
        assert isinstance(error, (ReplyError, WebSearchError, UnreachableError))
        assert most < 5 * MAX_REPLY

    @pytest.mark.parametrize("packing", ["zstd", "gzip, gzip"])
    def test_what_was_not_asked_for_is_not_unpacked(self, server: Server, call: str, packing: str) -> None:
        kind = KINDS.get(call, "application/json")
        server.answer = lambda request: Reply(
            kind=kind, body=gzip.compress(packed(10_000_000)), headers={"Content-Encoding": packing}
        )
        assert failed(call, server)[1] < 5 * MAX_REPLY
        if call != "duckduckgo":  # whose client asks as a browser does
            assert server.seen[0].headers["Accept-Encoding"] == "gzip"

    def test_so_many_headers_are_not_read(self, server: Server, call: str) -> None:
        server.answer = lambda request: Reply(headers={f"X-{number}": "x" * 1_000 for number in range(2_000)})
        assert failed(call, server)[1] < 5 * MAX_REPLY

    def test_objects_in_objects_without_end_are_no_reply(self, server: Server, call: str) -> None:
        kind = KINDS.get(call, "application/json")
        server.answer = lambda request: Reply(kind=kind, body=b"[" * 500_000)
        failed(call, server)


@pytest.mark.parametrize("call", [call for call in CALLS if call != "models"])
def test_a_reply_byte_after_byte_ends_with_the_time_there_is(server: Server, call: str) -> None:
    """The server sees it; nobody waits for a last byte, which never comes."""
    server.answer = lambda request: Reply(kind=KINDS.get(call, "application/json"), ends="drip")
    clock = FakeClock(hangs=server.dripping)
    error, _ = failed(call, server, metered(600, clock))
    assert server.left.wait(60) and clock.ahead > 0
    assert isinstance(error, (UnreachableError, WebSearchError))


def test_unpacking_ends_with_the_call(server: Server) -> None:
    """Seven megabytes of events, none of which says anything, arrive at once; Stop is heard between two pieces."""
    body, cancel = packed(7_000_000, b"data: {}\n\n"), threading.Event()
    seen: list[int] = []

    def answer(request: Request) -> Reply:
        seen.append(1)
        threading.Timer(0.2, cancel.set).start()
        return Reply(kind="text/event-stream", body=body, headers={"Content-Encoding": "gzip"})

    server.answer = answer
    one = ChatModel(place(server)).metered(UsageTracker(Budget(calls=5, seconds=60), cancel))
    with pytest.raises(CragError):
        list(one.written(HELLO, max_tokens=5))
    server.answer = lambda request: Reply(status=404)
    with pytest.raises(ProviderError, match="404"):
        chat(server, metered(20)).text(HELLO, max_tokens=5)


class TestClient:
    """The connection by itself."""

    def got(self, server: Server, limit: int = 1_000) -> httpx.Response:
        async def asked() -> httpx.Response:
            async with BoundedClient(limit=limit, trust_env=False) as client:
                return await client.get(server.address)

        return asyncio.run(asked())

    @pytest.mark.parametrize("encoding", ["", "identity", "gzip", "x-gzip", " GZIP "])
    def test_up_to_the_limit_a_reply_is_read_whole(self, server: Server, encoding: str) -> None:
        body = b"ab" * 500
        sent = gzip.compress(body) if "gzip" in encoding.lower() else body
        server.answer = lambda request: Reply(body=sent, headers={"Content-Encoding": encoding})
        assert self.got(server).content == body
        with pytest.raises(OversizedError, match="MB"):
            self.got(server, limit=999)

    def test_what_unpacks_to_nothing_has_an_end_too(self, server: Server) -> None:
        packer = zlib.compressobj(0, wbits=31)
        start = packer.flush(zlib.Z_FULL_FLUSH)
        body = start + b"\x00\x00\x00\xff\xff" * 1_000
        server.answer = lambda request: Reply(body=body, headers={"Content-Encoding": "gzip"})
        with pytest.raises(OversizedError):
            self.got(server)

    def test_what_follows_the_end_is_not_read(self, server: Server) -> None:
        server.answer = lambda request: Reply(
            body=gzip.compress(b"x") + b"more" * 10_000, headers={"Content-Encoding": "gzip"}, ends="endless"
        )
        assert self.got(server, limit=1_000_000).content == b"x"
        assert server.left.wait(60)

    @pytest.mark.parametrize(
        ("body", "encoding", "error"),
        [
            (b"\x0b\x02\x80", "br", PackingError),
            (gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "gzip, gzip", PackingError),
            (b"not gzip at all", "gzip", zlib.error),
            (gzip.compress(b"x" * 100, mtime=0)[:-12], "gzip", httpx.ReadError),
        ],
    )
    def test_what_cant_be_unpacked_is_told_apart(
        self, server: Server, body: bytes, encoding: str, error: type[Exception]
    ) -> None:
        server.answer = lambda request: Reply(body=body, headers={"Content-Encoding": encoding})
        with pytest.raises(error):
            self.got(server)

    def test_a_proxy_of_the_environment_is_still_asked(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, server.address)

        async def asked() -> int:
            async with BoundedClient() as client:
                return (await client.get("http://model.example/v1/models")).status_code

        assert asyncio.run(asked()) == 200
        assert [request.path for request in server.seen] == ["http://model.example/v1/models"]
