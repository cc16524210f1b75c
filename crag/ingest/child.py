"""The reader's child process: bytes on standard input, frames of JSON (or one image) on standard output.

Everything that parses a hostile file happens here, under limits on memory and processor time, with no keys in the
environment. Run as `python -m crag.ingest.child` by `crag.ingest.sandbox`, never imported by the engine.
"""

from __future__ import annotations

import ctypes
import gc
import io
import json
import os
import resource
import struct
import sys
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, BinaryIO

_AHEAD = 8  # pages on either side that a header or footer is looked for on
_REPEATS = 3
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
        if job["task"] == "render":
            _render(data, job, out)
        else:
            _read(data, job, out)
    except _FileError as error:
        _send(out, {"error": error.kind, "detail": error.detail})
    except MemoryError:
        _send(out, {"error": "memory", "detail": ""})


class _FileError(Exception):
    """What is wrong with the file: `kind` is one of the words that the parent knows."""

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind, self.detail = kind, detail
        super().__init__(kind, detail)


def _limit(job: dict[str, Any]) -> None:
    memory = int(job["memory_mb"]) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(job["seconds"]), hard))


def _allow(job: dict[str, Any], pages: int) -> None:
    """A tenth of a second more for each page that has been read, so that long files may take long."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(job["seconds"] + pages / 10), hard))


def _send(out: BinaryIO, message: dict[str, Any], body: bytes = b"") -> None:
    head = json.dumps(message, separators=(",", ":")).encode()
    out.write(struct.pack(">II", len(head), len(body)))
    out.write(head)
    out.write(body)
    out.flush()


def _open(data: bytes) -> Any:
    """A PDFium document. The empty password opens what only its owner locked."""
    import pypdfium2.raw as pdfium

    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        code = pdfium.FPDF_GetLastError()
        kinds = {pdfium.FPDF_ERR_PASSWORD: "encrypted", pdfium.FPDF_ERR_SECURITY: "encrypted"}
        raise _FileError(kinds.get(code, "damaged"), f"PDFium error {code}")
    return document


def _read(data: bytes, job: dict[str, Any], out: BinaryIO) -> None:
    import pypdfium2.raw as pdfium

    from crag.ingest.compose import as_message, compose
    from crag.ingest.proof import Proof
    from crag.ingest.units import Carried

    document = _open(data)
    pages = pdfium.FPDF_GetPageCount(document)
    if pages < 1:
        raise _FileError("no pages")
    if pages > int(job["max_pages"]):
        raise _FileError("pages", str(pages))
    _send(out, {"pages": pages, "title": _metadata_title(document)})
    heights: Counter[float] = Counter()
    proof = Proof(document, int(job["seconds"]))
    carried = Carried()
    for laid, repeated in _with_repeats(_laid(document, pages, heights, proof)):
        body = heights.most_common(1)[0][0] if heights else 10.0
        _send(out, {"page": as_message(compose(laid, repeated, body, carried))})
        _allow(job, laid.number)
    _send(out, {"done": pages})


def _laid(document: Any, pages: int, heights: Counter[float], proof: Any) -> Iterator[Any]:
    """Every page laid out; one that can't be loaded comes as an empty page marked as unreadable."""
    import pypdfium2.raw as pdfium

    from crag.ingest.compose import lay_out
    from crag.ingest.seen import read_page
    from crag.ingest.words import PageWords

    for number in range(1, pages + 1):
        page = pdfium.FPDF_LoadPage(document, number - 1)
        words = PageWords(612.0, 792.0, [], 0.0, [], failed=True)
        if page:
            try:
                words = read_page(page, proof)
            except ValueError:
                words.failed = True
            finally:
                pdfium.FPDF_ClosePage(page)
        for word in words.words:
            box = word.box
            heights[round((box.bottom - box.top) * 2) / 2] += len(word.text)
        yield lay_out(number, words)


def _with_repeats(laid: Iterator[Any]) -> Iterator[tuple[Any, set[Any]]]:
    """Each page with the edge lines that at least three pages near it share; pages stay few in memory."""
    from crag.ingest.compose import edge_keys

    behind: deque[set[Any]] = deque(maxlen=_AHEAD)
    ahead: deque[tuple[Any, set[Any]]] = deque()

    def first() -> tuple[Any, set[Any]]:
        page, keys = ahead.popleft()
        near = Counter(key for each in [*behind, *(k for _, k in ahead)] for key in each)
        behind.append(keys)
        return page, {key for key in keys if near[key] >= _REPEATS}

    for page in laid:
        ahead.append((page, edge_keys(page)))
        if len(ahead) > _AHEAD:
            yield first()
    while ahead:
        yield first()


def _metadata_title(document: Any) -> str:
    import pypdfium2.raw as pdfium

    size = pdfium.FPDF_GetMetaText(document, b"Title", None, 0)
    if not 2 < size <= 4096:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDF_GetMetaText(document, b"Title", buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _render(data: bytes, job: dict[str, Any], out: BinaryIO) -> None:
    """One page as PNG, highlights drawn over it. Huge pages are made small before a bitmap is made."""
    import pypdfium2 as pdfium
    from PIL import Image, ImageDraw

    document = pdfium.PdfDocument(_open(data))
    number = int(job["page"])
    if not 1 <= number <= len(document):
        raise _FileError("no such page", str(len(document)))
    try:
        page = document[number - 1]
    except pdfium.PdfiumError as error:
        raise _FileError("damaged", f"page {number} can't be loaded") from error
    width, height = page.get_size()
    if width <= 0 or height <= 0:
        raise _FileError("damaged", f"page {number} has no size")
    scale = int(job["width"]) / width
    scale *= min(1.0, (_MOST_PIXELS / max(1.0, width * height * scale * scale)) ** 0.5)
    scale = max(scale, 1.0 / min(width, height))
    picture = page.render(scale=scale).to_pil().convert("RGBA")
    if job["highlights"] or job["strong"]:
        layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
        draw = ImageDraw.Draw(layer)
        for left, top, right, bottom in job["highlights"]:
            box = [left * scale - 1, top * scale - 1, right * scale + 1, bottom * scale + 1]
            draw.rectangle(box, fill=(255, 196, 0, 96), outline=(214, 140, 0, 200))
        for left, top, right, bottom in job["strong"]:
            box = [left * scale - 1, top * scale - 1, right * scale + 1, bottom * scale + 1]
            draw.rectangle(box, fill=(255, 150, 0, 130), outline=(176, 84, 0, 255), width=max(2, round(scale)))
        picture = Image.alpha_composite(picture, layer)
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "PNG", dpi=(72 * scale, 72 * scale))  # so it tells how long a point is
    _send(out, {"image": "png"}, buffer.getvalue())


if __name__ == "__main__":
    main()
