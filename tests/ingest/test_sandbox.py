"""The sandbox: keys stay out, and what a child says or does not say becomes one clear error."""

import json
import struct
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import DamagedError, DocumentError, LimitError
from crag.ingest import sandbox

CONFIG = AppConfig.of(read_seconds=2)


def _frame(message: object, body: bytes = b"") -> str:
    head = json.dumps(message).encode()
    return repr(struct.pack(">II", len(head), len(body)) + head + body)


def _run(code: str, silent: float = 600.0) -> list[dict[str, object]]:
    """The frames of a stand-in child that runs `code`."""
    command = [sys.executable, "-c", f"import os, sys, signal\nout = sys.stdout.buffer\n{code}"]
    limits = replace(sandbox.reading(CONFIG), silent=silent)
    frames = sandbox.run_child({"task": "read"}, b"%PDF-", "x.pdf", CONFIG, command=command, limits=limits)
    return [message for message, _ in frames]


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGXCPU)", LimitError, "2 seconds"),
        ("os.kill(os.getpid(), signal.SIGKILL)", LimitError, "memory"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", DamagedError, "SIGSEGV"),
        ("sys.exit(3)", DamagedError, "status 3"),
        ("pass", DamagedError, "gave up"),
        ("out.write(b'garbage that is no frame')", DamagedError, "made no sense"),
        (f"out.write({_frame([1, 2])})", DamagedError, "made no sense"),
        (f"out.write({_frame({'page': 1})}[:9])", DamagedError, "broke off"),
        ("out.write(b'\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00{')", DamagedError, "broke off"),
        (f"out.write({_frame({'error': 'memory'})})", LimitError, "MB of memory"),
        (f"out.write({_frame({'error': 'something new'})})", DamagedError, "something new"),
    ],
)
def test_every_way_of_ending_is_a_clear_error(code: str, error: type[DocumentError], words: str) -> None:
    with pytest.raises(error, match=words):
        _run(code)


def test_a_child_that_hangs_is_stopped() -> None:
    with pytest.raises(LimitError, match="2 seconds"):
        _run("import time; time.sleep(600)", silent=0.5)


def test_no_key_reaches_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    code = (
        "import json, struct\nhead = json.dumps({'environment': dict(os.environ), 'done': 1}).encode()\n"
        "out.write(struct.pack('>II', len(head), 0) + head)"
    )
    (message,) = _run(code)
    names = message["environment"]
    assert isinstance(names, dict)
    assert "TAVILY_API_KEY" not in names
    assert Path(names["PYTHONPATH"], "crag").is_dir()


def test_leaving_early_ends_child_and_threads() -> None:
    threads = threading.active_count()
    code = f"import time\nout.write({_frame({'page': 1})}); out.flush(); time.sleep(60)"
    command = [sys.executable, "-c", f"import os, sys\nout = sys.stdout.buffer\n{code}"]
    frames = sandbox.run_child({"task": "read"}, b"%PDF-" * 100_000, "x.pdf", CONFIG, command=command)
    assert next(frames)[0] == {"page": 1}
    frames.close()  # type: ignore[attr-defined]
    assert threading.active_count() == threads
