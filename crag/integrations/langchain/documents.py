"""LangChain's Documents read as chunks of a run: what their metadata say, whatever is in them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import PurePath
from typing import Any

from langchain_core.documents import Document

from crag.core.metadata import days_in
from crag.core.trace import Trace
from crag.core.types import Chunk, Grade, Strip, WebPage
from crag.generation.places import Place
from crag.text.addresses import usable_address
from crag.text.characters import whole_text
from crag.text.guard import detect_injection, mask_injection

TEXT_CHARS = 16_000
"""How much of a Document's text is used: what lies behind is more than the local evaluator reads of one text."""
_NAME_CHARS, _LABEL_CHARS = 200, 20
_LAST_PAGE = 1_000_000
_SEPARATOR = " › "
_OF_A_MACHINE = re.compile(r"[/\\~]|file:|[A-Za-z]:[\\/]")
"""How a path begins that says where on a machine a file lies."""


def as_chunks(documents: Iterable[Document], first_page: int = 0) -> dict[str, tuple[Chunk, Document]]:
    """By its chunk's id, each Document with its chunk, in order; those without words and those seen before left out.

    `first_page`: the number that their metadata give a first page, 0 or 1.
    """
    found: dict[str, tuple[Chunk, Document]] = {}
    for document in documents:
        chunk = as_chunk(document, first_page)
        if chunk is not None:
            found.setdefault(chunk.id, (chunk, document))
    return found


def as_chunk(document: Document, first_page: int = 0) -> Chunk | None:
    """A Document as a chunk: its first `TEXT_CHARS` characters; None where these hold no words.

    Metadata that are missing or of another type than usual say nothing. A file is called by its name alone, without
    the folders of a machine. Without a page number, the page is 0. The id is made of the Document's own, else of its
    source, page and text: no id of a library is ever like it.
    """
    text = whole_text(document.page_content)[:TEXT_CHARS].replace("\0", " ")
    if not text.strip():
        return None
    said: Mapping[Any, Any] = document.metadata
    stated = next((line for key in ("source", "file_path", "file_name", "filename") if (line := _line(said, key))), "")
    title, page, start = _line(said, "title"), _page(said.get("page"), first_page), _start(said.get("start_index"))
    headings = [line for level in range(1, 7) if (line := _line(said, f"Header {level}"))]
    own = whole_text(str(document.id)) if document.id else json.dumps([stated, page, start, text])
    id = _digest("id" if document.id else "text", own)
    return Chunk(
        id=id[:32],
        document_id=_digest("document", stated or title or id),
        source=(_source_name(stated) or title or f"document {id[:8]}")[:_NAME_CHARS],
        title=title or _source_name(stated)[:_NAME_CHARS],
        page=page,
        ordinal=0,
        start=start,
        end=start + len(text),
        text=text,
        context=_SEPARATOR.join(filter(None, (title, *headings))),
        place=_place(_line(said, "page_label")[:_LABEL_CHARS], page, headings),
        url=usable_address(said.get("url")) or usable_address(stated),
        dated=_date(said.get("date")),
    )


def confidence_of(document: Document) -> float:
    """How far what it says is trusted, 0..1; 1 where its metadata do not say it."""
    said = document.metadata.get("confidence")
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        return 1.0
    return min(1.0, max(0.0, float(said)))


def _line(said: Mapping[Any, Any], key: str) -> str:
    """A text among the metadata, on one line; empty for anything else."""
    value = said.get(key)
    return " ".join(whole_text(str(value)).replace("\0", " ").split()) if isinstance(value, str | PurePath) else ""


def _source_name(source: str) -> str:
    """What a citation calls a source: of a file on a machine its name, of all else the whole."""
    if not _OF_A_MACHINE.match(source):
        return source
    return re.split(r"[\\/]", source.rstrip("\\/"))[-1]


def _page(value: object, first_page: int) -> int:
    """The page, from 1; 0 where that is not known. Some stores keep all numbers as floats, or as texts."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,7}", value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    page = value - first_page + 1
    return page if 1 <= page <= _LAST_PAGE else 0


def _start(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else 0


def _place(label: str, page: int, headings: list[str]) -> str:
    """Where it stands, in words, where its page number does not say it: "page iv", "section Risk factors"."""
    if label and label != str(page):
        return f"page {label}"
    return f"section {headings[-1][:_NAME_CHARS]}" if headings and not page else ""


def _date(value: object) -> str:
    """A date as exact as it is known, ISO 8601; empty for anything else."""
    said = value.isoformat() if isinstance(value, date) else value if isinstance(value, str) else ""
    day = said[:10] if said[10:11] in ("T", " ") else said
    return day if days_in(day) else ""


def _digest(kind: str, text: str) -> str:
    return hashlib.sha256(f"langchain {kind}\0{text}".encode()).hexdigest()


def documents_of(trace: Trace, originals: Mapping[str, Document], *, whole: bool) -> list[Document]:
    """What a run may answer from: a Document for each source of which strips are kept, in order of refinement.

    Its text is those strips, or with `whole` all of the source, in both with what speaks to a model, of
    which `untrusted` of the metadata says where it stands, unless the run erased it from a web page. Metadata say what
    they are and how they were judged. `originals`, by chunk id, are Documents of a store: what they say stays.
    """
    kept: dict[str, list[Strip]] = {}
    for strip in trace.kept():
        kept.setdefault(strip.source_id, []).append(strip)
    return [
        _document(trace, trace.sources[id], strips, originals.get(id), whole)
        for id, strips in kept.items()
        if id in trace.sources
    ]


def _document(
    trace: Trace, source: Chunk | WebPage, strips: Sequence[Strip], original: Document | None, whole: bool
) -> Document:
    text = _whole(original, source) if whole else Place(tuple(strips), {source.id: source}).text
    said = original.metadata if original else {}
    spans = [{"start": each.start, "end": each.end} for each in detect_injection(text)]
    marks = {"untrusted": spans} if spans else {}
    return Document(
        id=original.id if original else source.id,
        page_content=text,
        metadata={**_describe(source), **said, **_describe_judgement(trace, source, strips), **marks},
    )


def _whole(original: Document | None, source: Chunk | WebPage) -> str:
    """All of a source's text that the run read."""
    if original:
        return original.page_content
    erased = isinstance(source, WebPage) and any(each.erased for each in source.injections)
    return mask_injection(source.text) if erased else source.text


def _describe(source: Chunk | WebPage) -> dict[str, Any]:
    """What it is, without what is not known. `page` counts from 1."""
    known: dict[str, Any] = {"source": source.title or source.url, "title": source.title, "url": source.url}
    if isinstance(source, Chunk):
        known |= {"source": source.source, "page": source.page, "place": source.place, "date": source.dated}
    else:
        known["date"] = source.published
    return {key: value for key, value in known.items() if value}


def _describe_judgement(trace: Trace, source: Chunk | WebPage, strips: Sequence[Strip]) -> dict[str, Any]:
    """How the run judged it. `score`: the source's own relevance, 0..1; None where it was not graded by itself."""
    grades: Mapping[str, Grade] = trace.web_grades
    if isinstance(source, Chunk):
        grades = trace.round.grades if trace.round else {}
    grade = grades.get(source.id)
    judged: dict[str, Any] = {
        "score": grade.score if grade else None,
        "action": str(trace.action) if trace.action else None,
        "origin": strips[0].origin,
        "run_id": trace.run_id,
        "strips": [{"start": each.start, "end": each.end, "score": each.score} for each in strips],
    }
    if not isinstance(source, Chunk):
        return judged
    rects = [asdict(rect) for strip in strips for rect in source.rects(strip.start, strip.end)]
    judged |= {"document_id": source.document_id, "chunk_id": source.id}
    return {**judged, "rects": rects} if rects else judged
