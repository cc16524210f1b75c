"""Refused origins: what they make the server reach for outside, and how long everybody else waits for it.

No packet leaves: the server's process runs under hook/sitecustomize.py, where every attempt to reach outside is written
down and fails after a second, as on a network that does not answer.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.attacks.figure import Figure, main
from tests.support.app_server import serving

HOOK = Path(__file__).with_name("hook")
REFUSED = 10


@contextmanager
def served(address: str = "127.0.0.1") -> Iterator[tuple[int, Path]]:
    """The app of the tree in the current folder: its port, and the file of what it reached for."""
    tree = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "outside"
        hooked = {"PYTHONPATH": f"{HOOK}{os.pathsep}{tree}", "OUTSIDE_LOG": str(log), "OUTSIDE_WAIT": "1"}
        with serving(Path(folder), tree=tree, address=address, **hooked) as app:
            yield app.port, log


def healthy(port: int) -> None:
    """Returns when the server has answered."""
    until = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=120).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def knock(port: int) -> socket.socket:
    """A page of another site opens the app's socket; the answer is not waited for."""
    line = socket.create_connection(("127.0.0.1", port))
    asked = ["GET /_stcore/stream HTTP/1.1", f"Host: 127.0.0.1:{port}", "Origin: http://evil.example"]
    asked += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    asked += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "", ""]
    line.sendall("\r\n".join(asked).encode())
    return line


def reached(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def wait_behind_refused_origins() -> Figure:
    with served() as (port, _):
        lines = [knock(port) for _ in range(REFUSED)]
        time.sleep(0.2)  # so that they come first
        began = time.monotonic()
        healthy(port)
        waited = time.monotonic() - began
        for line in lines:
            line.close()
    what = f"{REFUSED} refused origins: another visitor's request waits"
    return Figure(finding=6, what=what, value=f"{waited:.1f} s")


def reached_by_refused_origins() -> Figure:
    with served() as (port, log):
        for line in [knock(port) for _ in range(REFUSED)]:
            line.recv(100)
            line.close()
        count = reached(log)
    return Figure(finding=6, what=f"{REFUSED} refused origins: addresses outside reached for", value=str(count))


def reached_by_a_start_for_the_network() -> Figure:
    with served("0.0.0.0") as (_, log):
        count = reached(log)
    return Figure(finding=6, what="a start for the whole network: addresses outside reached for", value=str(count))


if __name__ == "__main__":
    main([wait_behind_refused_origins, reached_by_refused_origins, reached_by_a_start_for_the_network])
