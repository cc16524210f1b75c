"""One loopback server that is a run's whole outside world (model, Tavily, web pages) and fails in the parts it is told.

Which part a request belongs to is told by its path, and for the model by the instructions it is given.
"""

import gzip
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from crag.runtime.connection import MAX_REPLY
from tests.support.model_server import DONE, chunk, completion
from tests.support.web_server import running

Part = Literal["grade", "support", "select", "rewrite", "search", "fetch", "answer"]
Failure = Literal["429", "500", "hang", "garbage", "words", "refused", "killed", "bomb", "loop", "endless"]
"""refused: the connection is reset before any byte. words: the form is right and what it says is of no use. bomb: four
times as many blanks as are read of any reply, as gzip. loop, endless: an answer that says one sentence for ever, or
100,000 words."""

LLM_KEY, TAVILY_KEY = "sk-secret-of-these-tests", "tvly-secret-of-these-tests"
SERVER_WORDS = "words-that-only-the-failing-server-says"
PIECES = ["Hiring took eighty ", "days in 2019 [", "1]. ", "It took longer ", "in 2018 [2]."]
SHOWN_BEFORE_THE_KILL = 4
SNIPPET = "Hiring took ninety days in 2018, says the snippet of page {}."
PAGE = "Hiring took ninety days in 2018, says the whole text of page {}."

_PROMPTS: dict[str, Part] = {
    "You judge whether a text from a search": "grade",
    "You judge whether a text supports": "support",
    "You sort the sentences": "select",
    "You turn a question": "rewrite",
    "Answer the question from the sources": "answer",
}
_REPLIES: dict[Part, str] = {
    "grade": '{"reason": "in part", "score": 0.3}',
    "support": '{"reason": "it says so", "score": 0.9}',
    "select": '{"keep": [1]}',
    "rewrite": "agency hiring, days, 2019",
    "answer": "".join(PIECES),
}
_piece = partial(chunk, "m")
_LOOP = ["Hiring took eighty days [1]. "] * 2000
_ENDLESS = [f"word{number} " for number in range(100_000)]
_USELESS = "I would rather talk about something else, since that is all that comes to my mind today. " + SERVER_WORDS


class World(ThreadingHTTPServer):
    """`seen`: the part of every request in order. `hanging`: a request hangs. `left`: its caller has hung up."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, fails: Mapping[Part, Failure]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fails = dict(fails)
        self.seen: list[Part] = []
        self.hanging, self.left = threading.Event(), threading.Event()
        self.pages = self.address

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """Callers that hang up are what is tested here."""


def world(fails: Mapping[Part, Failure] | None = None) -> AbstractContextManager[World]:
    """A running world in which these parts fail and all others work."""
    return running(World(fails or {}))


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens, and nobody else can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextmanager
def swallowed() -> Iterator[str]:
    """An address at which a connection is neither accepted nor refused: its queue is full."""
    with socket.socket() as held, ExitStack() as waiting:
        held.bind(("127.0.0.1", 0))
        held.listen(0)
        for _ in range(4):
            caller = waiting.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(held.getsockname())
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: World
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        text = f"<html><title>Page</title><p>{PAGE.format(self.path[-1])}</p></html>"
        self._served("fetch", text.encode(), "text/html")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/search":
            return self._served("search", json.dumps(self._results()).encode())
        told = body["messages"][0]["content"]
        part = next(part for begins, part in _PROMPTS.items() if told.startswith(begins))
        if body.get("stream"):
            return self._served(part, b"", "text/event-stream")
        return self._served(part, json.dumps(completion("m", _REPLIES[part])).encode())

    def _results(self) -> dict[str, Any]:
        rows = [
            {"url": f"{self.server.pages}/page-{place}", "title": f"Page {place}", "content": SNIPPET.format(place)}
            for place in (1, 2)
        ]
        return {"query": "", "results": rows}

    def _served(self, part: Part, good: bytes, kind: str = "application/json") -> None:
        """The good reply (a stream is made here), or this part's failure."""
        self.server.seen.append(part)
        self.close_connection = True
        streams = kind == "text/event-stream"
        match self.server.fails.get(part):
            case "429" | "500" as status:
                self._sent(json.dumps({"error": {"message": self._told()}}).encode(), kind, int(status))
            case "hang":
                self._hung()
            case "refused":
                self._reset()
            case "garbage" if streams:
                self._streamed([b"data: <html>" + self._told().encode() + b"</html>\n\n"], whole=True)
            case "garbage" if part == "fetch":
                self._sent(b"\x00\x01\x02" + self._told().encode(), kind)
            case "garbage":
                self._sent(f"<html><body>{self._told()}</body></html>".encode(), "text/html")
            case "bomb":
                self._sent(_bomb(), kind, packed=True)
            case "loop" | "endless" as how if streams:
                self._streamed(
                    [*map(_piece, _LOOP if how == "loop" else _ENDLESS), _piece("", "stop"), DONE], whole=True
                )
            case "words":
                self._useless(part, streams)
            case "killed" if streams:
                self._streamed([_piece(piece) for piece in PIECES[:SHOWN_BEFORE_THE_KILL]], whole=False)
            case "killed":
                self._sent(good, kind, cut=True)
            case _ if streams:
                self._streamed([*(_piece(piece) for piece in PIECES), _piece("", "stop"), DONE], whole=True)
            case _:
                self._sent(good, kind)

    def _told(self) -> str:
        """What a careless server repeats in its errors: the key that it was sent."""
        return f"{SERVER_WORDS} {self.headers.get('Authorization')}"

    def _useless(self, part: Part, streams: bool) -> None:
        if streams:
            return self._streamed([_piece("", "stop"), DONE], whole=True)
        reply = {"results": self._told()} if part == "search" else completion("m", _USELESS)
        return self._sent(json.dumps(reply).encode(), "application/json")

    def _sent(self, data: bytes, kind: str, status: int = 200, *, cut: bool = False, packed: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)

    def _streamed(self, parts: list[bytes], *, whole: bool) -> None:
        """The parts as chunks, each sent by itself; the last chunk, which says that this was all, only if `whole`."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        for part in [*parts, b""] if whole else parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def _hung(self) -> None:
        """Never replies; notices when the caller has hung up."""
        self.server.hanging.set()
        self.connection.settimeout(60)
        try:
            gone = self.connection.recv(1) == b""
        except ConnectionError:
            gone = True
        if gone:
            self.server.left.set()

    def _reset(self) -> None:
        """The connection ends with a reset, not one byte having been sent."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


@cache
def _bomb() -> bytes:
    return gzip.compress(b" " * (4 * MAX_REPLY))
