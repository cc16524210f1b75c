"""A real Milvus server on loopback, which tests start, kill and start again."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class MilvusServer:
    """`milvus-lite server` over a folder, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it serves: it says so in a line."""
        command = [sys.executable, "-u", "-m", "milvus_lite", "server", "--data-dir", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert "listening" in said, f"milvus-lite did not start: {said}"

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def __enter__(self) -> MilvusServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
