"""A real Milvus server on loopback, which tests start, kill and start again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType

from tests.support.other_programs import free_port
from tests.support.shell import line_of, started


class MilvusServer:
    """`milvus-lite server` over a folder, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it serves: it says so in a line."""
        command = ["-u", "-m", "milvus_lite", "server", "--data-dir", self.folder, "--host", "127.0.0.1"]
        self.process = started(*command, "--port", self.port, stderr=subprocess.DEVNULL)
        said = line_of(self.process)
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
