"""The command line, in this process or as one of its own, and a PDF small enough to read here."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from crag.cli.main import main
from tests.support import local_models

ROOT = Path(__file__).resolve().parents[2]


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
    """This process's, without its settings of ours, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAG_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def crag(*arguments: object, given: str | bytes = b"", **more: str) -> Ran:
    """The command line with these arguments and this standard input, in this process: the models are loaded once."""
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (_bytes(given), b"", b"")]
    with contextlib.ExitStack() as stack:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            stack.enter_context(mock.patch.object(sys, name, stream))
        stack.enter_context(mock.patch.dict(os.environ, environment(**more), clear=True))
        stack.enter_context(contextlib.chdir(ROOT))
        try:
            code = main([str(each) for each in arguments], local_models.engine)
        except SystemExit as ended:  # so does argparse, on wrong usage and after --help
            code = ended.code if isinstance(ended.code, int) else 0
        out, err = (_written(stream) for stream in streams[1:])
    return Ran(code, out, err)


def _bytes(given: str | bytes) -> bytes:
    return given.encode() if isinstance(given, str) else given


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


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


def small_pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF of one font, each page its lines of text."""
    objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = "\n".join(f"({line}) Tj T*" for line in lines).encode()
        stream = b"BT /F1 12 Tf 14 TL 72 720 Td\n" + shown + b"\nET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


LIGHTHOUSE = [
    ["The lighthouse of Veldt Point was built in 1871 from grey granite.", "Its keeper was Anna Marrow."],
    ["The lamp burns rapeseed oil and is visible for nineteen nautical miles.", "It was electrified in 1932."],
]
