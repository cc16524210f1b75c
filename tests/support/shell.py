"""The command line, in this process or as one of its own."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest

from crag.cli.main import main
from tests.support import local_models

ROOT = Path(__file__).resolve().parents[2]
NOTED = TemporaryDirectory(prefix="crag-noted-")
"""The data folder of a command that is given another library alone: what it notes is not the checkout's."""


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as one JSON object a line; anything else in it is an error."""
        records = [json.loads(line) for line in self.out.splitlines()]
        assert all(isinstance(record, dict) for record in records)
        return records


def environment(**more: str) -> dict[str, str]:
    """This process's, without its settings of ours but a data folder for this process, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAG_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(ROOT), "CRAG_DATA": NOTED.name, **more}


def crag(*arguments: object, given: str | bytes = b"", **more: str) -> Ran:
    """The command line with these arguments and this standard input, in this process: the models are loaded once."""
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (_bytes(given), b"", b"")]
    with contextlib.ExitStack() as stack:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            stack.enter_context(mock.patch.object(sys, name, stream))
        stack.enter_context(mock.patch.dict(os.environ, environment(**more), clear=True))
        stack.enter_context(contextlib.chdir(ROOT))
        code = main([str(each) for each in arguments], local_models.engine)
        out, err = (_written(stream) for stream in streams[1:])
    return Ran(code, out, err)


def _bytes(given: str | bytes) -> bytes:
    return given.encode() if isinstance(given, str) else given


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


def started(*program: object, stderr: int | None = None, **more: str) -> subprocess.Popen[str]:
    """A program of this Python, given as its own arguments, as a process: its input is open, its output can be read."""
    return subprocess.Popen(
        [sys.executable, *map(str, program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=ROOT,
        env=environment(**more),
        text=True,
    )


def told_apart(module: str, *arguments: object) -> Any:
    """The last line that a module of tests.support prints, as JSON, run where it may mount what it likes."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no namespace of mounts")
    command = ["unshare", "-rm", sys.executable, "-m", f"tests.support.{module}", *map(str, arguments)]
    ran = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def line_of(child: subprocess.Popen[str]) -> str:
    """The next line that a process writes; nothing where it has ended."""
    assert child.stdout is not None
    return child.stdout.readline()


def process(*arguments: object, given: str | bytes = b"", cwd: Path | None = None, **more: str) -> Ran:
    """`python -m crag` with these arguments and this standard input, as a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "crag", *map(str, arguments)],
        input=_bytes(given),
        capture_output=True,
        cwd=cwd or ROOT,
        env=environment(**more),
        timeout=120,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())
