"""EPUB books: the chapters in reading order, each read as the web page that it is."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from crag.ingest.files import FileError, check_container, translate_errors
from crag.ingest.html import read_html_blocks
from crag.ingest.properties import NAMES, day, parse, stated
from crag.ingest.sections import Block, ComposedPage, fill_pages, messages
from crag.text.encodings import decode_text

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")
_CLOSED = re.compile(r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)(\w+)(\s[^<>]*)?/>")
"""An element that ends where it begins, as XML has it; a web page would end it with the page."""


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The book in parts of a few thousand characters. Raises FileError."""
    names, notes = check_container(data, job)
    with translate_errors(), zipfile.ZipFile(BytesIO(data)) as file:
        if _CONTAINER not in names:
            raise FileError("damaged", "it has no list of contents")
        root = next(parse(file.read(_CONTAINER)).iter("{*}rootfile"), None)
        if root is None:
            raise FileError("damaged", "it has no list of contents")
        place = root.get("full-path") or ""
        package = parse(file.read(place))
        about = stated(package, {**NAMES, "date": "published"})
        chapters = [name for name in _spine(package, posixpath.dirname(place)) if name in names]
        if _ENCRYPTION in names and _is_locked(file, chapters):
            raise FileError("encrypted")
        pages = list(fill_pages(block for name in chapters for block in _blocks(file.read(name))))
    yield from messages(pages, job, about.pop("title", ""), notes, day(about.pop("published", "")), about)


def _spine(package: Any, folder: str) -> Iterator[str]:
    """The names of the parts that hold the chapters, in order."""
    items = {item.get("id"): item for item in package.iter("{*}item")}
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _PAGES and reference.get("linear") != "no":
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))


def _is_locked(file: zipfile.ZipFile, chapters: list[str]) -> bool:
    """Whether a chapter is encrypted: fonts often are in a book that is not."""
    locked = {each.get("URI") for each in parse(file.read(_ENCRYPTION)).iter("{*}CipherReference")}
    return any(name in locked for name in chapters)


def _blocks(data: bytes) -> Iterator[Block]:
    return read_html_blocks(_CLOSED.sub(r"<\1\2></\1>", decode_text(data)))
