"""The server that forks the reader's children: they are as bare and as bounded as a process of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import LimitError
from crag.ingest import children
from crag.ingest.children import Child, start_child
from crag.ingest.files import READERS
from crag.ingest.reader import read_document
from crag.ingest.sandbox import reading, run_child
from tests.support.shell import line_of, started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each child is a program of its own")
JOB = {"task": "read", "media": "text", "label": "x", "memory_mb": 512, "seconds": 7, "max_pages": 10}


def _of(pid: int) -> list[int]:
    """The child processes of a process."""
    listed = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for each in listed for child in each]


def _servers(pid: int) -> list[int]:
    return [each for each in _of(pid) if b"crag.ingest.forkserver" in Path(f"/proc/{each}/cmdline").read_bytes()]


def _forked() -> tuple[Child, int, int]:
    """A child that waits for its job, its process and that of its server."""
    child = start_child(JOB)
    ((pid, server),) = [(each, server) for server in _servers(os.getpid()) for each in _of(server)]
    return child, pid, server


def _until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 10
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _end(child: Child) -> int:
    child.kill()
    status = child.wait()
    assert child.stdin is not None and child.stdout is not None
    child.stdin.close()
    child.stdout.close()
    return status


def test_a_child_is_bare_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    child, pid, server = _forked()
    assert child.stdin is not None
    child.stdin.write(json.dumps(JOB).encode() + b"\n")
    child.stdin.flush()
    limits = Path(f"/proc/{pid}/limits")
    _until(lambda: "Max cpu time              7 " in limits.read_text())
    assert "Max file size             0 " in limits.read_text()
    for process in (pid, server):
        assert b"SECRET" not in Path(f"/proc/{process}/environ").read_bytes().upper()
        assert len(list(Path(f"/proc/{process}/task").iterdir())) == 1
    assert os.getsid(pid) == pid
    opened = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
    assert len(list(Path(f"/proc/{pid}/fd").iterdir())) <= 4
    assert not any(each.startswith("socket:") for each in opened)
    assert _end(child) == -signal.SIGKILL
    assert not _alive(pid)


def test_a_child_reaches_no_network() -> None:
    child, pid, _ = _forked()
    alone = os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    _end(child)
    allowed = subprocess.run(["unshare", "--user", "--net", "true"], check=False, capture_output=True).returncode == 0
    assert alone == allowed


def test_how_a_child_ended_is_known() -> None:
    for ended in (signal.SIGXCPU, signal.SIGSEGV, signal.SIGKILL):
        child, pid, _ = _forked()
        os.kill(pid, ended)
        assert child.wait() == -ended
        _end(child)


def test_processor_time_and_memory_are_those_of_one_file() -> None:
    config = AppConfig.of(read_seconds=2)
    deep = b"<p>" + b"<i>x</i>" * 5_000_000
    with pytest.raises(LimitError):
        list(run_child({**JOB, "media": "html"}, deep, "x.html", config, limits=reading(config)))
    assert read_document(b"The harbour.", "x.txt", config).pages[0].text == "The harbour."


def test_a_server_that_was_killed_takes_its_children_along_and_is_started_anew() -> None:
    child, pid, server = _forked()
    os.kill(server, signal.SIGKILL)
    assert child.wait() == 1
    _until(lambda: not _alive(pid))
    _end(child)
    assert read_document(b"The harbour.", "x.txt", AppConfig()).pages[0].text == "The harbour."
    assert server not in _servers(os.getpid())


def test_nothing_outlives_a_killed_program() -> None:
    held = f"from crag.ingest.children import start_child\nheld = start_child({JOB!r})\n"
    code = f"import time\n{held}print(1, flush=True)\ntime.sleep(60)"
    with started("-c", code) as program:
        assert line_of(program) == "1\n"
        (server,) = _servers(program.pid)
        (pid,) = _of(server)
        program.kill()
    _until(lambda: not _alive(server) and not _alive(pid))


SAMPLES = {
    "csv": b"when;how much\n2024-01-02;7,50\n",
    "email": b"From: c@example.org\nDate: Tue, 2 Jan 2024 10:00:00 +0000\nSubject: =?utf-8?q?d=C3=A9j=C3=A0?=\n\nvu\n",
    "html": b"<article><h2>Ferries</h2><p>They leave at <b>nine</b>.</p><ul><li>daily</ul></article>",
    "markdown": b"Ferries\n=======\n\n1. nine\n2. ten\n\n> `code`\n",
    "rtf": rb"{\rtf1\ansi{\b Ferries}\par leave at nine.}",
    "text": "The ferry leaves at nine. Caf\u00e9.\n".encode("cp1252"),
}
"""Others than a server reads before."""


def test_a_child_has_what_its_reader_needs_and_a_server_one_thread() -> None:
    """What a child imports by itself, it imports for each file again."""
    code = (
        "import json, os, sys\n"
        "from crag.ingest import child, forkserver\n"
        "media, reader, sample = sys.argv[1], sys.argv[2], sys.stdin.buffer.read()\n"
        "forkserver.prepare(reader)\n"
        "before = set(sys.modules)\n"
        "limits = {'max_pages': 9, 'memory_mb': 512, 'seconds': 9}\n"
        "sample and list(child.read_messages(sample, {'media': media, 'name': media, **limits}))\n"
        "assert len(os.listdir('/proc/self/task')) == 1\n"
        "print(json.dumps(sorted(each for each in set(sys.modules) - before if not each.startswith('encodings.'))))\n"
    )
    environment = os.environ | children._ONE_THREAD
    for media, place in READERS.items():
        command = [sys.executable, "-c", code, media, place.partition(":")[0]]
        ran = subprocess.run(command, input=SAMPLES.get(media, b""), check=True, env=environment, capture_output=True)
        assert json.loads(ran.stdout) == [], media
