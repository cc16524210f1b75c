"""Plain text by its paragraphs; Markdown as the HTML that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from crag.ingest.html import read_html_blocks
from crag.ingest.properties import day
from crag.ingest.sections import Block, ComposedPage, fill_pages, messages
from crag.ingest.wrapped import unwrap
from crag.text.addresses import stated_address
from crag.text.encodings import guess_text

_BREAK = re.compile(r"\n[ \t]*\n")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def read_text(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """Plain text in parts of a few thousand characters. Raises FileError for more parts than pages are read."""
    text, doubt = _decode(data)
    blocks = (Block(text=paragraph.strip("\n")) for paragraph in _BREAK.split(unwrap(text)))
    yield from messages(fill_pages(blocks), job, "", {"encoding": doubt})


def read_markdown(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """Markdown, in the same way."""
    text, doubt = _decode(data)
    front, markup, comments = render_markdown(text)
    pages = list(fill_pages(read_html_blocks(markup)))
    opening = pages[0].headings[0][1] if pages and pages[0].headings else ""
    notes = {"remarks": comments, "encoding": doubt}
    address = stated_address(front.get("url") or front.get("canonical") or front.get("source_url"))
    yield from messages(
        pages, job, front.get("title") or opening, notes, day(front.get("date", "")), {"address": address}
    )


def _decode(data: bytes) -> tuple[str, str]:
    text, doubt = guess_text(data)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""), doubt


def render_markdown(text: str) -> tuple[dict[str, str], str, int]:
    """The fields of the front matter by name in lower case, the text as HTML, and how many comments it holds."""
    found = _FRONT.match(text)
    front: dict[str, str] = {}
    for line in found[1].split("\n") if found else ():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            front.setdefault(name.strip().lower(), value.strip().strip("\"'"))
    text, comments = _COMMENT.subn("", text[found.end() :] if found else text)
    return front, _parser().render(unwrap(text)), comments


@cache
def _parser() -> Any:
    """CommonMark with tables. Lines that are not wrapped stay lines: notes and addresses are written so."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"breaks": True}).enable("table")
