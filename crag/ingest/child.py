"""The reader's child process: bytes on standard input, frames of JSON (or one image) on standard output.

Everything that parses a hostile file happens here, under limits on memory and processor time, with no keys in the
environment. Forked by `crag.ingest.forkserver` or run as `python -m crag.ingest.child`, never imported by the engine.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import resource
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from crag.core.ingesting import Attachment
from crag.core.tables import dump_tables
from crag.ingest.chunking import cut_page
from crag.ingest.files import READERS, FileError
from crag.ingest.sections import ComposedPage

Reader = Callable[[bytes, dict[str, Any]], Iterator[dict[str, Any] | ComposedPage | Attachment]]
"""Reads a file as the job says: first a message of how many `pages` it has, its `title`, its `properties`, and,
where it says so, when it was `published`; then its pages, numbered from 1, and what is attached to it. Raises FileError
for what is wrong with the file.
"""

_MOST_PIXELS = 12_000_000


def main() -> None:
    """Read one job, do it, and send what came of it. Errors of the file are frames; all else ends the process."""
    gc.disable()  # a page's words are thousands of objects without a circle; looking for one took 3 % of the time
    # Anything a library prints must not end up between the frames.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = sys.stdin.buffer
    job: dict[str, Any] = json.loads(source.readline())
    _limit(job)
    try:
        data = source.read()
        match job["task"]:
            case "render":
                _render(data, job, out)
            case "recognise":
                _recognise(data, job, out)
            case _:
                _read(data, job, out)
    except FileError as error:
        _send(out, {"error": error.kind, "detail": error.detail})
    except MemoryError:
        _send(out, {"error": "memory", "detail": ""})


def _limit(job: dict[str, Any]) -> None:
    memory = int(job["memory_mb"]) * 1024 * 1024 + _loaded()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _allow(job["seconds"])


def _loaded() -> int:
    """Bytes of address space that the program takes before it reads anything; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _allow(seconds: float) -> None:
    """Have the system end this process once it has used so much processor time."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), hard))


def _send(out: BinaryIO, message: dict[str, Any], body: bytes = b"") -> None:
    head = json.dumps(message, separators=(",", ":")).encode()
    out.write(struct.pack(">II", len(head), len(body)))
    out.write(head)
    out.write(body)
    out.flush()


def _read(data: bytes, job: dict[str, Any], out: BinaryIO) -> None:
    """All pages, each sent as soon as it is read."""
    pages = 0
    for message in read_messages(data, job):
        _send(out, message, message.pop("data", b""))
        if "page" in message:
            pages += 1
            _allow(job["seconds"] + pages / 10)  # long files may take long
    _send(out, {"done": pages})


def read_messages(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the reader of the job's kind of file says, as plain values. Raises FileError."""
    module, name = READERS[job["media"]].split(":")
    read: Reader = getattr(importlib.import_module(module), name)
    for item in read(data, job):
        if isinstance(item, Attachment):
            yield {"attachment": item.name, "data": item.data}
        else:
            yield page_message(item) if isinstance(item, ComposedPage) else item


def page_message(page: ComposedPage) -> dict[str, Any]:
    """A page as plain values, with where its chunks are."""
    page.cuts = [(cut.start, cut.end, cut.table, cut.headers) for cut in cut_page(page)]
    return {"page": {name: getattr(page, name) for name in page.__slots__} | {"tables": dump_tables(page.tables)}}


def _recognise(data: bytes, job: dict[str, Any], out: BinaryIO) -> None:
    """The pages that the job numbers, read from their pictures. Each has the job's processor time for itself."""
    from crag.ingest.picture_pages import recognise

    gc.enable()  # a page takes seconds here, and is megabytes of pixels

    def send(message: dict[str, Any]) -> None:
        _send(out, message)
        used = resource.getrusage(resource.RUSAGE_SELF)
        _allow(used.ru_utime + used.ru_stime + job["seconds"] + 1)

    pages = 0
    for page in recognise(data, job, send):
        _send(out, page_message(page))
        pages += 1
    _send(out, {"done": pages})


def _render(data: bytes, job: dict[str, Any], out: BinaryIO) -> None:
    """One page as PNG, highlights drawn over it. Huge pages are made small before a bitmap is made."""
    from PIL import Image, ImageDraw

    from crag.ingest.pictures import pages_of

    pages = pages_of(data, job["media"])
    number = int(job["page"])
    if not 1 <= number <= pages.count:
        raise FileError("no such page", str(pages.count))
    width, height = pages.size(number)
    scale = int(job["width"]) / width
    scale *= min(1.0, (_MOST_PIXELS / max(1.0, width * height * scale * scale)) ** 0.5)
    scale = max(scale, 1.0 / min(width, height))
    picture = pages.draw(number, scale).convert("RGBA")
    if job["highlights"] or job["strong"]:
        layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
        draw = ImageDraw.Draw(layer)
        for name, fill, outline, line in (
            ("highlights", (255, 196, 0, 96), (214, 140, 0, 200), 1),
            ("strong", (255, 150, 0, 130), (176, 84, 0, 255), max(2, round(scale))),
        ):
            for left, top, right, bottom in job[name]:
                box = [left * scale - 1, top * scale - 1, right * scale + 1, bottom * scale + 1]
                draw.rectangle(box, fill=fill, outline=outline, width=line)
        picture = Image.alpha_composite(picture, layer)
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "PNG", dpi=(72 * scale, 72 * scale))  # so it tells how long a point is
    _send(out, {"image": "png"}, buffer.getvalue())


if __name__ == "__main__":
    main()
