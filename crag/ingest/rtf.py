"""RTF documents: striprtf takes the words out, and what it leaves of headings and tables becomes a web page.

Embedded objects and pictures are left out: nothing in them is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from crag.ingest.files import FileError, translate_errors
from crag.ingest.html import read_html_blocks
from crag.ingest.sections import ComposedPage, fill_pages, messages

_CELL, _ROW, _TABLE, _HEADING = "\ue001", "\ue002", "\ue003", "\ue004"
"""Stand in the text for the end of a cell and of a row, the beginning of a row, and a paragraph that is a heading."""
_MARKED = (
    (re.compile(r"\\(?:nest)?cell(?![a-z])"), _CELL),
    (re.compile(r"\\(?:nest)?row(?![a-z])"), _ROW),
    (re.compile(r"\\trowd(?![a-z])"), _TABLE),
    (re.compile(r"\\outlinelevel[0-8](?!\d)"), _HEADING),
)
_BESIDE = re.compile(r"\\(?:header|footer|footnote)[lrf]?(?![a-z])")
"""Groups that striprtf drops, and that a person reads."""
# No possessive repeat around the choice: before 3.11.4 Python loses matches there.
_HIDDEN_PART = re.compile(
    r"\\(?:v1?|deleted1?)(?![a-z\d])((?:[^{}\\]|\\(?!(?:v|deleted)\d?(?![a-z\d])))*)\\(?:v|deleted)0(?!\d)"
)
_HIDDEN = re.compile(r"\\(?:v1?|deleted1?)(?![a-z\d])")
_LATE = re.compile(r"(?<![{\s\\])\\\*(?=\\)")
"""The sign of a group that may be left out, where no group begins: it means the next word alone."""
_OBJECT = re.compile(r"\\object(?![a-z])")
_INFO = re.compile(r"\{\\(title|author|subject|keywords)(?![a-z])\s*((?:[^{}\\]|\\[\s\S]){0,500}+)\}")
_TIME = re.compile(r"\{\\(creatim|revtim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_TIMES = {"creatim": "created", "revtim": "modified"}
_CODEPAGE = re.compile(r"\\ansicpg(\d{3,5})")


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """The document in parts of a few thousand characters. Raises FileError."""
    with translate_errors():
        source = _LATE.sub("", data.decode("latin-1"))
        about, objects = _properties(source), len(_OBJECT.findall(source))
        for pattern, mark in _MARKED:
            source = pattern.sub(lambda _, mark=mark: f"{{\\uc1\\u{ord(mark)}?}}", source)  # type: ignore[misc]
        source = _BESIDE.sub(r"\\par ", source)
        seen = _text(_HIDDEN.sub(r"\\*", _HIDDEN_PART.sub(r"{\\*\1}", source)))
        unseen = len(_text(source).split()) - len(seen.split()) if _HIDDEN.search(source) else 0
        pages = list(fill_pages(read_html_blocks("".join(_write_page(seen)))))
    if not pages:
        raise FileError("no text")
    pages[0].unseen += max(0, unseen)
    yield from messages(pages, job, about.pop("title", ""), {"objects": objects}, properties=about)


def _text(source: str) -> str:
    from striprtf.striprtf import rtf_to_text

    return str(rtf_to_text(source, errors="replace"))  # type: ignore[no-untyped-call]


def _properties(source: str) -> dict[str, str]:
    """What the group of information says, by name."""
    start = source.find("{\\info")
    if start < 0:
        return {}
    group = source[start : start + 20_000]
    codepage = found[0] if (found := _CODEPAGE.search(source)) else ""
    said = {name: _text(f"{{\\rtf1{codepage} {value}}}") for name, value in _INFO.findall(group)}
    days = {_TIMES[name]: f"{year}-{int(month):02}-{int(day):02}" for name, year, month, day in _TIME.findall(group)}
    return said | days


def _write_page(text: str) -> Iterator[str]:
    """The text as a web page, which the reader of web pages reads."""
    rows = 0
    for part in re.split(f"(?<={_ROW})", text):
        before, row, cells = part.partition(_TABLE) if part.endswith(_ROW) else (part, "", "")
        if rows and (before.strip() or not row):
            yield "</table>"
            rows = 0
        yield from _write_paragraphs(before)
        if row:
            yield "" if rows else "<table>"
            held = cells.replace(_TABLE, "").rstrip(_ROW).split(_CELL)[:-1]
            yield from ("<tr>", *(f"<td>{''.join(_write_paragraphs(cell))}</td>" for cell in held), "</tr>")
            rows += 1
    if rows:
        yield "</table>"


def _write_paragraphs(text: str) -> Iterator[str]:
    for line in text.translate({ord(_TABLE): None, ord(_ROW): None, ord(_CELL): " "}).split("\n"):
        tag = "h2" if _HEADING in line else "p"
        if said := line.replace(_HEADING, "").strip():
            yield f"<{tag}>{escape(said)}</{tag}>"
