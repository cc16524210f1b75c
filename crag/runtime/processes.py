"""Child processes, memory arenas, and the socket at which a server listens."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import socket
import sys
from pathlib import Path

from crag.core.errors import SettingsError

PACKAGE_PARENT = Path(__file__).resolve().parent.parent.parent
"""The folder that holds the package."""


def bare_environment() -> dict[str, str]:
    """No keys, no proxies, no start-up files: the child needs the package and nothing else."""
    return {"PYTHONPATH": str(PACKAGE_PARENT), "PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1", "PATH": os.defpath}


_ARENA_MAX = -8
"""M_ARENA_MAX of glibc's malloc.h."""
_HEAPS = 2


def share_heaps() -> None:
    """Has all threads to come share two heaps. Without glibc, nothing happens.

    glibc gives up to eight heaps a core to threads, against waiting that the interpreter's lock rules out anyhow. Each
    keeps room for the most it ever held: with ten people working, that was a quarter of the app's memory.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(_ARENA_MAX, _HEAPS)


IDLE_SECONDS = 75
"""A connection may be silent for so long between two requests: longer than those who ask keep one (httpx and with it
OpenAI's client 5 seconds, nginx 60), so that none is closed in the moment at which the next request is on its way."""

UNREAD_SECONDS = 60
"""A connection whose client reads nothing of a reply for so long is closed, and what it did not read is dropped."""

_MOST_FILES = 65_536

_BACKLOG = 2_048
"""Connections that wait to be taken; the system may allow fewer."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at a name or number; port 0 is any free one. Raises SettingsError where it can't be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        raise SettingsError(
            f"Port {port} of {host} can't be had: {why}.", "Choose another with --host or --port."
        ) from error
    # The connections that it takes inherit this. asyncio sets it on connections of its own sockets alone, and without
    # it the second part of a reply waits 40 ms for the client's word on the first.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # only Linux has it; they inherit this, too
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1000)
    return made


def room_for_files() -> int:
    """Raises the limit of open files, as each connection is one, as far as it may be; returns how many there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return most if soft == resource.RLIM_INFINITY else soft
