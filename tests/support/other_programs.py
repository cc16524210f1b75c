"""Other programs at work on this machine, and ports for them."""

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def free_port() -> int:
    """A port of loopback at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def at_work(command: Sequence[object], log: Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program until the block ends, what it says in a log; `how` as `Popen` takes it."""
    with log.open("wb") as said:
        process = subprocess.Popen([*map(str, command)], stdout=said, stderr=said, **how)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_reply(address: str, program: subprocess.Popen[bytes], log: Path) -> None:
    """Returns as soon as a program answers at its address; raises, with its last words, where it ends before that."""
    until = time.monotonic() + 180  # it takes three seconds of processor, which a busy machine may not have
    while time.monotonic() < until and program.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"it did not start:\n{log.read_text()[-3000:]}")
