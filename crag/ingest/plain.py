"""Plain text and Markdown: paragraphs, and in Markdown headings, tables and code as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crag.ingest.office import messages
from crag.ingest.sections import Block, parts, table
from crag.text.encodings import guess_encoding

_BREAK = re.compile(r"\n[ \t]*\n")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]++(.+)")
_UNDERLINE = re.compile(r" {0,3}(?:={3,}|-{3,})[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*+\|?+[ \t]*+:?-++:?+[ \t]*+(?:\|[ \t]*+:?-++:?+[ \t]*+)*+\|?[ \t]*+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"title[ \t]*+:[ \t]*+[\"']?(.+)", re.IGNORECASE)


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The text in parts of a few thousand characters. Raises FileError for more parts than pages are read."""
    text = guess_encoding(data).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if job["media"] != "markdown":
        found = list(parts(Block(text=paragraph.strip("\n")) for paragraph in _BREAK.split(text)))
        yield from messages(found, job, "", {})
        return
    front = _FRONT.match(text)
    text, unseen = _COMMENT.subn("", text[front.end() :] if front else text)
    found = list(parts(_blocks(text.split("\n"))))
    titled = [_TITLE.fullmatch(line) for line in front[1].split("\n")] if front else []
    title = next((_title(match[1]) for match in titled if match), "")
    opening = found[0].headings[0][1] if found and found[0].headings else ""
    yield from messages(found, job, title or opening, {"remarks": unseen})


def _title(said: str) -> str:
    """A title of the front matter without the quote and the blanks behind it."""
    bare = said.rstrip(" \t")
    return bare[:-1] if len(bare) > 1 and bare[-1] in "\"'" else bare or said[:1]


def _heading(said: str) -> str:
    """A heading without the number signs that close it."""
    return said.rstrip("#").rstrip(" \t") or said[:1]


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
            yield from table([_cells(row) for row in (line, *lines[at + 1 : end])], headed=True)
            at = end
        elif not line.strip():
            yield from _paragraph(held)
        else:
            held.append(line)
    yield from _paragraph(held)


def _paragraph(held: list[str]) -> Iterator[Block]:
    """What was held back, which is then held no more."""
    if held:
        yield Block(text="\n".join(held))
        held.clear()


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)]
