"""Plain text and Markdown: paragraphs, and in Markdown headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crag.ingest.compose import as_message
from crag.ingest.fault import FileError
from crag.ingest.sections import Block, parts

_BREAK = re.compile(r"\n[ \t]*\n")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*")


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The text in parts of a few thousand characters. Raises FileError for more parts than pages are read."""
    text = _decoded(data).replace("\r\n", "\n").replace("\r", "\n")
    found = list(parts(_blocks(text, job["media"] == "markdown")))
    if not found:
        raise FileError("no pages")
    if len(found) > int(job["max_pages"]):
        raise FileError("pages", str(len(found)))
    yield {"pages": len(found), "title": found[0].headings[0][1] if found[0].headings else ""}
    for page in found:
        yield {"page": as_message(page)}


def _blocks(text: str, markdown: bool) -> Iterator[Block]:
    for paragraph in _BREAK.split(text):
        first, _, rest = paragraph.strip("\n").partition("\n")
        heading = _HEADING.fullmatch(first.strip()) if markdown else None
        if heading is None:
            yield Block(text=paragraph.strip("\n"))
            continue
        yield Block(text=heading[1], heading=True)
        if rest.strip():
            yield from _blocks(rest, markdown)


def _decoded(data: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
