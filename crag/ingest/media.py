"""What a file is, recognised by its bytes: its name decides only between forms of plain text."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crag.core.documents import Media


class FileError(Exception):
    """What is wrong with the file: `kind` is one of the words that `crag.ingest.sandbox` knows."""

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind, self.detail = kind, detail
        super().__init__(kind, detail)


READERS: Mapping[Media, str] = MappingProxyType(
    {
        "pdf": "crag.ingest.pdf",
        "docx": "crag.ingest.docx",
        "pptx": "crag.ingest.pptx",
        "xlsx": "crag.ingest.xlsx",
        "csv": "crag.ingest.delimited",
        "html": "crag.ingest.html",
        "markdown": "crag.ingest.plain",
        "text": "crag.ingest.plain",
        "image": "crag.ingest.pictures",
    }
)
"""Which module reads what, in the reader's child process: its function `read`, a `crag.ingest.child.Reader`."""

NAMES: Mapping[Media, str] = MappingProxyType(
    {
        "pdf": "PDF",
        "html": "web page",
        "markdown": "Markdown",
        "text": "plain text",
        "docx": "Word document",
        "pptx": "PowerPoint presentation",
        "xlsx": "Excel workbook",
        "csv": "CSV table",
        "image": "image",
    }
)
ENDINGS: Mapping[str, Media] = MappingProxyType(
    {
        **{"pdf": "pdf", "html": "html", "htm": "html", "md": "markdown", "markdown": "markdown", "txt": "text"},
        **{"docx": "docx", "docm": "docx", "pptx": "pptx", "pptm": "pptx", "ppsx": "pptx"},
        **{"xlsx": "xlsx", "xlsm": "xlsx", "csv": "csv", "tsv": "csv"},
        **dict.fromkeys(("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"), "image"),
    }
)
"""What files of these endings most likely are: for choosing files, and between forms of plain text."""

_PDF_WITHIN = 1024
_LOOKED_AT = 4096
_PARTS: Mapping[bytes, Media] = {b"word/": "docx", b"ppt/": "pptx", b"xl/": "xlsx"}
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")
_MARKS = {b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"}
_UNTEXTED = bytes(each for each in range(32) if each not in b"\t\n\v\f\r\x1b")


def media_of(data: bytes, name: str) -> Media | None:
    """What these bytes are; None for what nothing here reads. `name` tells Markdown and CSV from other text."""
    head = data[:_LOOKED_AT]
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        listed = _directory(data)
        return next((media for part, media in _PARTS.items() if part in listed), None)
    if head.startswith(_IMAGES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP") or _is_bitmap(head):
        return "image"
    if not _is_text(head) or b"%PDF-" in head:
        return None
    if any(tag in head.lower() for tag in _HTML):
        return "html"
    hint = ENDINGS.get(name.rpartition(".")[2].lower())
    return hint if hint in ("html", "markdown", "csv") else "text"


def _is_bitmap(head: bytes) -> bool:
    """Whether these bytes begin a BMP: text may begin with the same two letters, but has no zeros behind them."""
    return head.startswith(b"BM") and head[6:10] == bytes(4)


def old_office(data: bytes) -> bool:
    """Whether the bytes are the container of Office files that are locked with a password, or older than 2007."""
    return data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")


def _directory(data: bytes) -> bytes:
    """The list of a container's parts, which stands at its end; all of one that is cut off."""
    end = data.rfind(b"PK\x05\x06")
    start = int.from_bytes(data[end + 16 : end + 20], "little") if end >= 0 else len(data)
    return data[start:end] if start < end else data


def _is_text(head: bytes) -> bool:
    """Whether the beginning of a file is text in some encoding: no control characters but white space."""
    if any(head.startswith(mark) for mark in _MARKS):
        return True
    return bool(head.strip()) and head.translate(None, _UNTEXTED) == head
