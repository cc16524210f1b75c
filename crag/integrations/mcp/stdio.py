"""The server over standard input and output, for the program that started it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from crag.integrations.mcp.server import LibraryServer

_PART = 1 << 16


def serve(server: LibraryServer) -> None:
    """Serve until the input ends or a signal comes; every run is then ended and stored."""
    end = _closable_input()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end())
    server.run("stdio")


def _closable_input() -> Callable[[], None]:
    """Put a socket in place of standard input, and return what closes it.

    The SDK's thread reads the input, and a read of the client's pipe can't be ended from here: a signal would wait for
    the next message.
    """
    source = os.dup(0)
    sender, receiver = socket.socketpair()
    os.dup2(receiver.fileno(), 0)
    receiver.close()

    def end() -> None:
        with suppress(OSError):
            sender.shutdown(socket.SHUT_WR)

    def pass_on() -> None:
        with suppress(OSError):  # after `end`
            while part := os.read(source, _PART):
                sender.sendall(part)
        end()

    threading.Thread(target=pass_on, name="standard input", daemon=True).start()
    return end
