"""The socket of a server: its connections wait for nobody, and what can't be had is said."""

from __future__ import annotations

import asyncio
import socket

import pytest

from crag.core.errors import SettingsError
from crag.runtime.processes import UNREAD_SECONDS, listening


def test_a_connection_that_it_takes_sends_every_part_of_a_reply_at_once() -> None:
    """Else a reply in two parts waits for the client's word on the first: 40 ms each time."""

    async def taken(held: socket.socket) -> int:
        options = asyncio.Queue[int]()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken = writer.get_extra_info("socket")
            options.put_nowait(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(answer, sock=held):
            _, writer = await asyncio.open_connection(*held.getsockname()[:2])
            found = await options.get()
            writer.close()
            return found

    assert asyncio.run(taken(listening("127.0.0.1", 0)))


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has it")
def test_a_connection_whose_client_reads_nothing_is_closed_by_the_system() -> None:
    with listening("127.0.0.1", 0) as held, socket.create_connection(held.getsockname()[:2]):
        taken, _ = held.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNREAD_SECONDS * 1000


def test_a_port_that_there_is_not_is_told() -> None:
    with pytest.raises(SettingsError, match=r"Port 70000 of 127\.0\.0\.1 can't be had"):
        listening("127.0.0.1", 70_000)


def test_a_port_that_is_taken_is_told() -> None:
    with listening("127.0.0.1", 0) as held:
        port = held.getsockname()[1]
        with pytest.raises(SettingsError, match=f"Port {port} of 127.0.0.1 can't be had: Address already in use"):
            listening("127.0.0.1", port)
