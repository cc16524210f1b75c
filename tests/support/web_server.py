"""A loopback web server that answers as it is told, and fails as real ones do: late, in pieces, or in the middle."""

import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, TypeVar


@dataclass(frozen=True, kw_only=True)
class Request:
    """What came in. `connection`: a number for each connection."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What goes out, and how it ends.

    "cut": killed in the middle. "hang": nothing comes until the server closes. "drip": byte after byte, slowly.
    "endless": the body again and again. "closed": the connection is closed without a word. "reset": it is reset.
    `pieces`: sent one by one, as a stream, in place of the body.
    """

    status: int = 200
    kind: str = "text/html; charset=utf-8"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    ends: Literal["whole", "cut", "hang", "drip", "endless", "closed", "reset"] = "whole"
    pieces: Sequence[bytes] = ()


Answer = Callable[[Request], Reply]
AnyServer = TypeVar("AnyServer", bound=ThreadingHTTPServer)


class Server(ThreadingHTTPServer):
    """`seen`: all requests. `hanging`: one hangs. `dripping`: some of a reply has dripped. `left`: a client went away
    before its end."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.closing = threading.Event()
        self.anew(answer)

    def anew(self, answer: Answer) -> None:
        """Lets go of those that wait, forgets what it saw, and answers so from now on: for the next test."""
        self.closing.set()
        self.answer = answer
        self.seen: list[Request] = []
        self.connections = 0
        self.closing, self.left = threading.Event(), threading.Event()
        self.hanging, self.dripping = threading.Event(), threading.Event()

    def server_close(self) -> None:
        self.closing.set()
        super().server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def place(self) -> tuple[str, int]:
        return "127.0.0.1", self.server_port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    """A server of http.server at work in a thread, until the block ends."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def serving(answer: Answer) -> AbstractContextManager[Server]:
    return running(Server(answer))


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1
        self._number = self.server.connections

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(method=self.command, path=self.path, headers=self.headers, body=body, connection=self._number)
        self.server.seen.append(request)
        try:
            self._sent(self.server.answer(request))
        except (BrokenPipeError, ConnectionResetError):
            self.server.left.set()
            self.close_connection = True

    do_POST = do_PATCH = do_GET

    def _sent(self, reply: Reply) -> None:
        self.close_connection = reply.ends != "whole"
        match reply.ends:
            case "hang":
                return self._hung()
            case "reset":
                return self._reset()
            case "closed":
                return None
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.kind, **reply.headers}.items():
            self.send_header(name, value)
        if reply.pieces:
            return self._streamed(reply.pieces, whole=reply.ends == "whole")
        if reply.ends in ("whole", "cut"):
            self.send_header("Content-Length", str(len(reply.body) + 500 * (reply.ends == "cut")))
        self.end_headers()
        if reply.ends in ("whole", "cut"):
            self.wfile.write(reply.body)
        while reply.ends == "endless" and not self.server.closing.is_set():
            self.wfile.write(reply.body)
        dripped = 0
        while reply.ends == "drip" and not self.server.closing.wait(0.05):
            self.wfile.write(b"<p>")
            dripped += 1
            if dripped == 3:
                self.server.dripping.set()
        return None

    def _streamed(self, pieces: Sequence[bytes], *, whole: bool) -> None:
        """The pieces as chunks; the last chunk, which says that this was all, only if `whole`."""
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in [*pieces, b""] if whole else pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _hung(self) -> None:
        """Waits until the caller has hung up or the server closes."""
        self.server.hanging.set()
        while not self.server.closing.is_set():
            if select.select([self.connection], [], [], 0.05)[0]:
                return self.server.left.set()
        return None

    def _reset(self) -> None:
        """The connection ends with a reset, not one byte having been sent."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
