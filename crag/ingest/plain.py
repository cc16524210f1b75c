"""Plain text and Markdown: paragraphs, and in Markdown headings, tables and code as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crag.ingest.sections import Block, ComposedPage, fill_pages, messages, write_table
from crag.text.encodings import guess_encoding

_BREAK = re.compile(r"\n[ \t]*\n")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]++(.+)")
_UNDERLINE = re.compile(r" {0,3}(?:={3,}|-{3,})[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*+\|?+[ \t]*+:?-++:?+[ \t]*+(?>(?:\|[ \t]*+:?-++:?+[ \t]*+)*)\|?[ \t]*+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def read_text(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """Plain text in parts of a few thousand characters. Raises FileError for more parts than pages are read."""
    paragraphs = _BREAK.split(_decode(data))
    yield from messages(fill_pages(Block(text=paragraph.strip("\n")) for paragraph in paragraphs), job, "", {})


def read_markdown(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """Markdown, in the same way."""
    front, blocks, comments = parse_markdown(_decode(data))
    pages = list(fill_pages(blocks))
    opening = pages[0].headings[0][1] if pages and pages[0].headings else ""
    yield from messages(pages, job, front.get("title") or opening, {"remarks": comments})


def _decode(data: bytes) -> str:
    return guess_encoding(data).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def parse_markdown(text: str) -> tuple[dict[str, str], Iterator[Block], int]:
    """The fields of the front matter by name in lower case, the blocks of the text, and how many comments it holds."""
    found = _FRONT.match(text)
    front: dict[str, str] = {}
    for line in found[1].split("\n") if found else ():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            front.setdefault(name.strip().lower(), value.strip().strip("\"'"))
    text, comments = _COMMENT.subn("", text[found.end() :] if found else text)
    return front, _blocks(text.split("\n")), comments


def _heading(line: str) -> str:
    """A heading without its closing number signs."""
    return line.rstrip("#").rstrip(" \t") or line[:1]


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Headings, tables and what stands between them; what is fenced as code is taken as it is."""
    held: list[str] = []
    fence = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        mark = _FENCE.match(line)
        at += 1
        if fence or mark:
            ends = mark is not None and mark[1].startswith(fence) if fence else False
            fence = "" if ends else fence or (mark[1] if mark else "")
            held.append(line)
        elif heading := _HEADING.fullmatch(line):
            yield from _paragraph(held)
            yield Block(text=_heading(heading[1]), heading=True)
        elif not held and line.strip() and _UNDERLINE.fullmatch(following) and "|" not in line:
            yield Block(text=line.strip(), heading=True)
            at += 1
        elif "|" in line and "-" in following and "|" in following and _RULE.fullmatch(following):
            yield from _paragraph(held)
            end = at + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield from write_table([_cells(row) for row in (line, *lines[at + 1 : end])], headed=True)
            at = end
        elif not line.strip():
            yield from _paragraph(held)
        else:
            held.append(line)
    yield from _paragraph(held)


def _paragraph(held: list[str]) -> Iterator[Block]:
    """Emit the lines that were held back."""
    if held:
        yield Block(text="\n".join(held))
        held.clear()


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)]
