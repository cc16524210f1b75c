"""Whose connection it is, by the head of its first request; and a parent with plain children that it keeps alive."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from ui.server import parent
from ui.server.parent import browser_of

CHILD = """
import os, socket, sys, threading, time
number, count, channel, port, first = map(int, os.environ["CRAG_CHILD"].split())
channel = socket.socket(fileno=channel)
if sys.argv[1:] == ["broken"]:
    sys.exit(7)
def sign():
    while True:
        try:
            channel.send((0).to_bytes(2, "big"))
        except OSError:
            return
        time.sleep(0.2)
threading.Thread(target=sign, daemon=True).start()
while True:
    said, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not said:
        sys.exit()
    for each in descriptors:
        with socket.socket(fileno=each) as connection:
            connection.recv(65536)
            connection.sendall(f"{number} {os.getpid()} {first}".encode())
"""


@pytest.mark.parametrize(
    ("head", "number"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nCookie: crag_process=1\r\n\r\n", 1),
        (b"GET / HTTP/1.1\r\ncookie: a=2; crag_process=2; b=0\r\n\r\n", 2),
        (b"GET / HTTP/1.1\r\nCookie: crag_process=9\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\nCookie: my_crag_process=1\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\nCookie: crag_process=12345678\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\nX-Not: crag_process=1\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\n\r\n", None),
        (b"GET /metrics?process=2 HTTP/1.1\r\nCookie: crag_process=1\r\n\r\n", 2),
        (b"GET /base/metrics?process=0 HTTP/1.1\r\n\r\n", 0),
        (b"GET /metrics?process=3 HTTP/1.1\r\n\r\n", None),
        (b"\x16\x03\x01\x02\x00\x01", None),
        (b"", None),
    ],
)
def test_the_cookie_names_the_process_and_so_does_who_scrapes_it(head: bytes, number: int | None) -> None:
    assert browser_of(head, 3) == number


def test_without_a_cookie_a_library_keeps_its_process_and_libraries_spread() -> None:
    heads = [f"GET /tune?x=1&w=key{number} HTTP/1.1\r\n\r\n".encode() for number in range(40)]
    found = [browser_of(head, 3) for head in heads]
    assert found == [browser_of(head, 3) for head in heads] and set(found) == {0, 1, 2}
    assert browser_of(b"GET /?w=key0 HTTP/1.1\r\nCookie: crag_process=2\r\n\r\n", 3) == 2


@contextmanager
def served(folder: Path, *arguments: str, files: int = 0) -> Iterator[tuple[subprocess.Popen[bytes], int, Path]]:
    """A parent of two plain children on a free port. `files`: how many it may have open, where not 0."""
    child, log = folder / "child.py", folder / "log"
    child.write_text(CHILD, encoding="utf-8")
    with socket.socket() as listener, log.open("wb") as out:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        command = [sys.executable, "-P", parent.__file__, str(listener.fileno()), "2", str(port)]
        command += [sys.executable, str(child), *arguments]
        fewer = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files)) if files else None
        process = subprocess.Popen(command, pass_fds=(listener.fileno(),), stdout=out, stderr=out, preexec_fn=fewer)
    try:
        yield process, port, log
    finally:
        process.terminate()
        process.wait(30)


def asked(port: int, number: int | None = None) -> list[int]:
    """Which child answers: its number, its process, whether it is the first of its number."""
    cookie = "" if number is None else f"Cookie: crag_process={number}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\n{cookie}\r\n".encode())
        said = b""
        while part := connection.recv(1000):
            said += part
    return [int(each) for each in said.split()]


def asked_again(port: int, number: int) -> list[int]:
    """Which child answers; asked once more where the one that died was still given the connection."""
    try:
        return asked(port, number)
    except ConnectionResetError:
        return asked(port, number)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_connections_go_where_their_cookie_says_and_a_child_that_died_has_a_successor(tmp_path: Path) -> None:
    with served(tmp_path) as (process, port, log):
        zero, one = asked(port, 0), asked(port, 1)
        assert (zero[0], zero[2]) == (0, 1) and (one[0], one[2]) == (1, 1) and zero[1] != one[1]
        assert [asked(port, 1)[1] for _ in range(5)] == [one[1]] * 5
        assert {asked(port)[0] for _ in range(8)} == {0, 1}, "who has no cookie goes to whoever has least to do"
        os.kill(one[1], signal.SIGKILL)
        until(lambda: not alive(one[1]))
        after = asked_again(port, 1)  # in time for the successor, which may still be starting
        assert after[0] == 1 and after[1] != one[1] and after[2] == 0
        assert asked(port, 0) == zero, "the other goes on"
        assert "Process 2 ended" in log.read_text(encoding="utf-8")
        process.terminate()
        assert process.wait(30) == 0
        until(lambda: not alive(zero[1]) and not alive(after[1]))


def test_no_child_outlives_a_parent_that_was_killed(tmp_path: Path) -> None:
    with served(tmp_path) as (process, port, _):
        children = [asked(port, number)[1] for number in (0, 1)]
        process.kill()
        until(lambda: not any(map(alive, children)))


def test_who_says_nothing_keeps_nobody_waiting(tmp_path: Path) -> None:
    with served(tmp_path) as (_, port, _), socket.create_connection(("127.0.0.1", port)):
        assert asked(port, 0)[0] == 0
        with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nCookie: crag_pro")
            assert asked(port, 0)[0] == 0
            slow.sendall(b"cess=1\r\n\r\n")
            assert slow.recv(100).split()[0] == b"1"


def test_unfinished_heads_close_the_way_for_nobody(tmp_path: Path) -> None:
    """Half of the files that may be open are for them: for the 21st the first one is closed."""
    with served(tmp_path, files=40) as (_, port, log), ExitStack() as open_still:
        assert asked(port, 0)[0] == 0
        unfinished = []
        for _ in range(60):
            each = open_still.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            each.sendall(b"GET / HTTP/1.1\r\nCookie: crag_pro")
            unfinished.append(each)
        assert [asked(port, number)[0] for number in (0, 1, 0, 1)] == [0, 1, 0, 1]
        unfinished[-1].sendall(b"cess=1\r\n\r\n")
        assert unfinished[-1].recv(100).split()[0] == b"1", "the newest one may still finish"
        with suppress(ConnectionResetError):
            assert unfinished[0].recv(100) == b""
        until(lambda: "connections that sent no whole request were closed" in log.read_text(encoding="utf-8"))


def test_a_start_that_can_t_succeed_ends(tmp_path: Path) -> None:
    with served(tmp_path, "broken") as (process, _, log):
        assert process.wait(60) == 7
        assert "can't start" in log.read_text(encoding="utf-8")
