"""Starts the reader's children: forked by a server that has imported their reader; where that fails, new processes."""

from __future__ import annotations

import atexit
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Protocol

from crag.ingest.files import READERS
from crag.runtime.processes import PACKAGE_PARENT, bare_environment

STARTED = b"+"
"""What the server says of a child that it has forked."""
STATUS = struct.Struct("!i")
"""And of one that has ended: what `Child.wait` returns."""
RECOGNITION = "crag.ingest.picture_pages"
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
"""Without these NumPy and onnxruntime start threads once they are imported."""
_TRIES = 2


class Child(Protocol):
    """A child process: bytes go in at `stdin` and come out at `stdout`."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None:
        """End it at once, if it has not ended."""

    def wait(self) -> int:
        """Its exit status once it has ended, or the negative number of the signal that ended it."""


def start_child(job: Mapping[str, Any], command: Sequence[str] | None = None) -> Child:
    """A child without keys, in a session of its own, that has what it needs for a job; of `command`, where given."""
    if command is None and sys.platform == "linux":
        reader = RECOGNITION if job["task"] == "recognise" else READERS[job["media"]].partition(":")[0]
        if forked := _servers.setdefault(reader, _Server(reader)).start_child():
            return forked
    return subprocess.Popen(
        command or [sys.executable, "-m", "crag.ingest.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=bare_environment(),
        cwd=PACKAGE_PARENT,
        start_new_session=True,
    )


class _Forked:
    """A child that the server forked. `control` is the socket between the two about it."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], control: socket.socket) -> None:
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self._control = control
        self._status: int | None = None

    def kill(self) -> None:
        with suppress(OSError):  # it has ended
            self._control.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Let go of a child that never began."""
        for end in (self.stdin, self.stdout, self._control):
            assert end is not None
            end.close()

    def wait(self) -> int:
        if self._status is None:
            said = self._control.recv(STATUS.size)
            self._status = STATUS.unpack(said)[0] if said else 1  # without a word the server itself was ended
            self._control.close()
        return self._status


class _Server:
    """The process that forks for one reader; started with its first file, and again if it has ended. Thread-safe."""

    def __init__(self, reader: str) -> None:
        self._reader, self._fails = reader, False
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._asking: socket.socket | None = None

    def start_child(self) -> _Forked | None:
        """A new child; None where no server can be had, and then ever after."""
        for _ in range(0 if self._fails else _TRIES):
            asking = self._started()
            if (forked := _ask(asking)) is not None:
                return forked
            self._end(asking)
        self._fails = True
        return None

    def close(self) -> None:
        if self._asking is not None:
            self._end(self._asking)

    def _started(self) -> socket.socket:
        with self._lock:
            if self._asking is None:
                self._asking, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with asked:
                    self._process = subprocess.Popen(
                        [sys.executable, "-m", "crag.ingest.forkserver", str(asked.fileno()), self._reader],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        env=bare_environment() | _ONE_THREAD,
                        cwd=PACKAGE_PARENT,
                        pass_fds=[asked.fileno()],
                        start_new_session=True,
                    )
            return self._asking

    def _end(self, asking: socket.socket) -> None:
        """Have the server of this socket end, unless another thread was first."""
        with self._lock:
            if self._asking is asking and self._process is not None:
                asking.close()
                self._process.wait()
                self._asking = self._process = None


def _ask(asking: socket.socket) -> _Forked | None:
    """A child of the server at the other end; None where that has ended."""
    source, stdin = os.pipe2(os.O_CLOEXEC)
    stdout, out = os.pipe2(os.O_CLOEXEC)
    control, other = socket.socketpair()
    child = _Forked(os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), control)
    started = b""
    with suppress(OSError):
        try:
            socket.send_fds(asking, [b"f"], [source, out, other.fileno()])
        finally:
            for each in (source, out, other.detach()):
                os.close(each)
        started = control.recv(len(STARTED))
    if started:
        return child
    child.close()
    return None


_servers: dict[str, _Server] = {}


@atexit.register
def _close() -> None:
    for server in _servers.values():
        server.close()
