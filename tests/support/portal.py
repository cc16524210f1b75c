"""A page of another origin, on loopback, that shows an address in a frame."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Portal(ThreadingHTTPServer):
    """`shown`: what is in the frame of its one page."""

    shown = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Framing(BaseHTTPRequestHandler):
    server: Portal

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        data = f"<h1>Portal</h1><iframe width=1200 height=800 src='{self.server.shown}'></iframe>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def portal_of() -> Iterator[Portal]:
    """A portal on a free port, until the block ends."""
    with Portal(("127.0.0.1", 0), Framing) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()
