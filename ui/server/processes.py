"""Several server processes behind one address: how the app becomes their parent, and what a child does with its part.

A child is the same app, started by the same command; `ui/server/parent.py` hands it the connections of its browsers.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamlit import config as options

from ui.server import parent
from ui.server.parent import CHANNEL, COOKIE

_SIGN = 1.0
"""Seconds between two signs of life."""


@dataclass(frozen=True, slots=True)
class Part:
    """Which of how many processes this is; its channel to the parent; the port that people see.

    `first`: 1 where no other had this number before it, else 0.
    """

    number: int
    count: int
    channel: int
    port: int
    first: int

    @property
    def speaks(self) -> bool:
        """Whether it is this one that says where the app is."""
        return self.number == 0 and self.first == 1

    def cookie(self, sent: str, *, path: str, framed: bool) -> str:
        """What to tell a browser that sent these cookies, so that it stays with this process; "" where it knows."""
        for each in sent.split(";"):
            name, _, value = each.strip().partition("=")
            if name == COOKIE and value.isdecimal() and int(value) < self.count:
                return ""
        kind = "SameSite=None; Secure" if framed else "SameSite=Lax"
        return f"{COOKIE}={self.number}; Path={path or '/'}; HttpOnly; {kind}"


def own_part() -> Part | None:
    """This process's part; None where it is the only one."""
    said = os.environ.get(CHANNEL, "").split()
    return Part(*map(int, said)) if len(said) == 5 else None


def become_parent(count: int) -> None:
    """Go on as the parent of so many processes, which this command starts; returns where there is no socket to keep.

    Called before anything big is loaded, with the app's socket bound and nobody served yet.
    """
    listener = next(listening(), None)
    if listener is None or not hasattr(socket, "send_fds"):
        return
    port = listener.getsockname()[1]
    command = [sys.executable, *sys.orig_argv[1:], "--server.port", "0"]
    listener.set_inheritable(True)
    sys.stdout.flush()
    arguments = [str(listener.fileno()), str(count), str(port), *command]
    os.execv(sys.executable, [sys.executable, "-P", parent.__file__, *arguments])  # noqa: S606  this very program


def settle_in(part: Part) -> None:
    """As a child: known by the port that people see, and reached directly from this machine alone."""
    os.set_inheritable(part.channel, False)
    del os.environ[CHANNEL]  # what is started from here is no child of the parent
    for listener in listening():
        loopback = "::1" if listener.family == socket.AF_INET6 else "127.0.0.1"
        with socket.socket(listener.family) as own:
            own.bind((loopback, 0))
            own.listen(64)
            own.setblocking(False)
            os.dup2(own.fileno(), listener.fileno(), inheritable=False)
    options.set_option("server.port", part.port)


def listening() -> Iterator[socket.socket]:
    """The sockets of this process that take connections of browsers."""
    for found in gc.get_objects():
        if type(found) is not socket.socket or found.fileno() < 0 or found.type != socket.SOCK_STREAM:
            continue
        if found.family in (socket.AF_INET, socket.AF_INET6) and found.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        ):
            yield found


async def take_part(part: Part) -> None:
    """Serve the connections that the parent hands over, until it ends: then this process ends too, in good order."""
    kind = sys.modules["uvicorn"].Server
    server = next(each for each in gc.get_objects() if isinstance(each, kind))
    channel = socket.socket(fileno=part.channel)
    channel.setblocking(False)
    loop = asyncio.get_running_loop()
    given: set[asyncio.Task[None]] = set()

    def look() -> None:
        try:
            said, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            said, descriptors = b"", []
        for each in descriptors:
            task = loop.create_task(_serve(server, socket.socket(fileno=each)))
            given.add(task)
            task.add_done_callback(given.discard)
        if not said:
            loop.remove_reader(channel)
            os.kill(os.getpid(), signal.SIGTERM)

    while not server.started:
        await asyncio.sleep(0.05)
    loop.add_reader(channel, look)
    try:
        while True:
            channel.send(min(len(server.server_state.connections), 0xFFFF).to_bytes(2, "big"))
            await asyncio.sleep(_SIGN)
    except OSError:  # the parent has gone; `look` hears of it
        pass


async def _serve(server: Any, connection: socket.socket) -> None:
    """One connection, by the same protocol as those that come to this process directly."""
    config = server.config

    def protocol() -> asyncio.Protocol:
        made: asyncio.Protocol = config.http_protocol_class(
            config=config, server_state=server.server_state, app_state=server.lifespan.state
        )
        return made

    try:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().connect_accepted_socket(protocol, connection, ssl=config.ssl)
    except OSError:
        connection.close()
