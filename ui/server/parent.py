"""One address, several server processes: listens, and hands each connection to the process that knows its browser.

The app starts this in place of itself where it is configured to be several processes (`ui/server/processes.py`); nobody
else does. It reads no more of a connection than the first request's head, and without taking it: the child that gets
the socket reads everything. Only the standard library is loaded here, so that the parent stays small.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence

COOKIE = "crag_process"
"""The cookie that names a browser's process; its value is no secret, and any number in it is harmless."""
CHANNEL = "CRAG_CHILD"
"""In a child's environment: its number, how many there are, the descriptor of its channel, the port that people see,
and 1 where it is the first of its number, else 0."""

_HEAD, _SILENT, _FINISH = 16_384, 30.0, 10.0
"""Bytes of a request's head that are looked at; seconds that a connection may say nothing, and then may take for it."""
_UNFINISHED = 1_000
"""Connections that have sent no whole head. For one more, the oldest one of the address that has the most is closed."""
_PEEK, _LONGEST_PEEK = 0.01, 0.25
"""Seconds between two looks at a head of which a part has come, longer each time."""
_NEWS = 60.0
"""Seconds between two lines of the log about connections that were closed."""
_STUCK = 60.0
"""Seconds without a sign of life after which a child that was ready is ended. It gives one every second."""
_FIRST_PAUSE, _LONGEST_PAUSE, _LASTING = 0.5, 30.0, 20.0
"""A child that died is started again after a pause, twice as long each time unless it had lasted for a while."""
_SUCCESSOR = 15.0
"""Seconds that a browser waits at most for the next process of its number; then it gets another."""
_HOPELESS = 3
"""So often a child may die before any was ever ready: then the start has failed."""
_PATIENCE = 25.0
"""Seconds that children have to end when they are asked to."""

_NAMED = re.compile(rb"^cookie:[^\r\n]*\b" + COOKIE.encode() + rb"=(\d{1,3})\b", re.IGNORECASE | re.MULTILINE)
_ASKED = re.compile(rb"^GET /[^ ?\r\n]*metrics\?process=(\d{1,3}) ")
"""Who watches over the processes asks each for its own metrics."""
_KEYED = re.compile(rb"^[A-Z]+ [^ \r\n]*[?&]w=([^&# \r\n]+)")
_log = logging.getLogger("crag.processes")


def browser_of(head: bytes, count: int) -> int | None:
    """Which of `count` processes a request belongs to by its head: by its cookie, else by its library's key."""
    if (named := _ASKED.search(head) or _NAMED.search(head)) and int(named[1]) < count:
        return int(named[1])
    if keyed := _KEYED.search(head):
        return zlib.crc32(keyed[1]) % count
    return None


class _Child:
    """One server process, started again under the same number when it dies."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: asyncio.subprocess.Process | None = None
        self.channel: socket.socket | None = None
        self.ready, self.heard, self.load = False, 0.0, 0
        self._starts = 0

    async def start(self, command: Sequence[str], count: int, port: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        self._starts += 1
        part = (self.number, count, theirs.fileno(), port, int(self._starts == 1))
        try:
            self.process = await asyncio.create_subprocess_exec(
                *command,
                env={**os.environ, CHANNEL: " ".join(map(str, part))},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is the parent's, which then ends each child in good order
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.channel, self.ready, self.load, self.heard = ours, False, 0, time.monotonic()
        asyncio.get_running_loop().add_reader(ours, self._listen, ours)

    def _listen(self, channel: socket.socket) -> None:
        """What a child says: two bytes, so many connections it has open."""
        with contextlib.suppress(BlockingIOError):
            try:
                said = channel.recv(1024)
            except OSError:
                said = b""
            if not said:
                asyncio.get_running_loop().remove_reader(channel)
                return
            self.ready, self.heard = True, time.monotonic()
            self.load = int.from_bytes(said[-2:], "big")

    def give(self, connection: socket.socket) -> bool:
        """Hand a connection over; False where that can't be. A child that is still starting finds it when it has."""
        if self.channel is None:
            return False
        try:
            socket.send_fds(self.channel, [b"+"], [connection.fileno()])
        except OSError:
            return False
        self.load += 1
        return True

    def end(self, how: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(how)

    def forget(self) -> None:
        """Its process has ended."""
        self.ready = False
        if self.channel is not None:
            asyncio.get_running_loop().remove_reader(self.channel)
            self.channel.close()
            self.channel = None


class Parent:
    """Listens on `listener` and keeps `count` children, each started by `command`. `port`: what people see."""

    def __init__(self, listener: socket.socket, count: int, port: int, command: Sequence[str]) -> None:
        listener.setblocking(False)
        self._listener, self._port, self._command = listener, port, tuple(command)
        self._children = [_Child(number) for number in range(count)]
        self._waiting: set[asyncio.Task[None]] = set()
        self._unfinished: dict[asyncio.Task[None], str] = {}
        """Those of them whose head is not there yet, oldest first, each with the address that it comes from."""
        self._most, self._closed, self._told = _most_unfinished(), 0, -_NEWS
        self._once_ready, self._early_deaths, self._status = False, 0, 0
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Until a signal asks it to stop, or the start has failed; the exit status."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._stopping.set)
        keepers = [asyncio.create_task(self._keep(child)) for child in self._children]
        work = [asyncio.create_task(self._accept()), asyncio.create_task(self._watch())]
        await self._stopping.wait()
        for task in (*work, *self._waiting):
            task.cancel()
        self._listener.close()
        for child in self._children:
            child.end(signal.SIGTERM)
        _, left = await asyncio.wait(keepers, timeout=_PATIENCE)
        if left:
            for child in self._children:
                child.end(signal.SIGKILL)
            await asyncio.wait(left)
        return self._status

    async def _keep(self, child: _Child) -> None:
        """One process of this number lives at any time, until the end."""
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            began = time.monotonic()
            await child.start(self._command, len(self._children), self._port)
            assert child.process is not None
            status = await child.process.wait()
            child.forget()
            if self._stopping.is_set():
                return
            self._early_deaths += not self._once_ready
            if self._early_deaths >= _HOPELESS:
                _log.error("The server processes can't start. What each said stands above.")
                self._status = status if status > 0 else 1
                self._stopping.set()
                return
            pause = _FIRST_PAUSE if time.monotonic() - began > _LASTING else min(2 * pause, _LONGEST_PAUSE)
            _log.warning("Process %d ended (status %d); another begins in %.1f s.", child.number + 1, status, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _watch(self) -> None:
        """Ends children that give no sign of life any more, and logs how many connections were closed unfinished."""
        while True:
            await asyncio.sleep(1)
            if self._closed and time.monotonic() - self._told > _NEWS:
                _log.warning("%d connections that sent no whole request were closed for newer ones.", self._closed)
                self._closed, self._told = 0, time.monotonic()
            for child in self._children:
                self._once_ready = self._once_ready or child.ready
                if child.ready and time.monotonic() - child.heard > _STUCK:
                    _log.warning("Process %d gives no sign of life and is ended.", child.number + 1)
                    child.heard = time.monotonic()
                    child.end(signal.SIGKILL)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listener)
            except OSError as error:  # too many open files, or the browser has gone already
                _log.warning("A connection could not be taken: %s", error.strerror)
                await asyncio.sleep(0.1)
                continue
            task = asyncio.create_task(self._hand_over(connection))
            self._waiting.add(task)
            self._unfinished[task] = address[0] if isinstance(address, tuple) else ""
            task.add_done_callback(self._forget)
            if len(self._unfinished) > self._most:
                self._close_oldest()

    def _close_oldest(self) -> None:
        """Closes the oldest unfinished connection of the address that has the most of them."""
        (most, _), *_ = Counter(self._unfinished.values()).most_common(1)
        oldest = next(task for task, address in self._unfinished.items() if address == most)
        del self._unfinished[oldest]
        oldest.cancel()
        self._closed += 1

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._waiting.discard(task)
        self._unfinished.pop(task, None)

    async def _hand_over(self, connection: socket.socket) -> None:
        try:
            head = await _head(connection)
            self._unfinished.pop(asyncio.current_task(), None)  # type: ignore[arg-type]
            number = browser_of(head, len(self._children)) if head else None
            if head and not (number is not None and await self._give(self._children[number], connection)):
                for child in sorted(self._children, key=lambda each: (not each.ready, each.load)):
                    if child.give(connection):
                        break
        except (OSError, TimeoutError):
            pass
        finally:
            connection.close()  # the child has its own

    async def _give(self, child: _Child, connection: socket.socket) -> bool:
        """To this very child, or its successor where that comes soon: what a browser sends later goes there as well."""
        until = time.monotonic() + _SUCCESSOR
        while not child.give(connection):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(0.05)
        return True


async def _head(connection: socket.socket) -> bytes:
    """The first request's head, left where it is; of TLS and anything else the first bytes. b"" where nothing comes.

    Raises TimeoutError where it takes too long.
    """
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_reader(connection, came.set)
    try:
        async with asyncio.timeout(_SILENT):
            await came.wait()
    finally:
        loop.remove_reader(connection)
    pause = _PEEK
    async with asyncio.timeout(_FINISH):
        while True:
            head = connection.recv(_HEAD, socket.MSG_PEEK)
            if not head or b"\r\n\r\n" in head or len(head) == _HEAD or not head[:1].isalpha():
                return head
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PEEK)


def _most_unfinished() -> int:
    """How many connections may be unfinished: half of the open files that there may be are for them, at most."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _UNFINISHED
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNFINISHED if soft == resource.RLIM_INFINITY else max(1, min(_UNFINISHED, soft // 2))


async def _served(listener: socket.socket, count: int, port: int, command: Sequence[str]) -> int:
    return await Parent(listener, count, port, command).run()


def main(arguments: Sequence[str]) -> int:
    """`arguments`: the listening socket's descriptor, how many children, the port, and their command."""
    descriptor, count, port, *command = arguments
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    listener = socket.socket(fileno=int(descriptor))
    listener.set_inheritable(False)
    return asyncio.run(_served(listener, int(count), int(port), command))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
