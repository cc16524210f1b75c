"""What a run may answer from, as LangChain's Documents; and a run waited for, in a thread or in a coroutine."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from langchain_core.documents import Document

from crag.core.errors import CragError, QuestionError
from crag.core.events import Event
from crag.core.request import RunRequest
from crag.core.trace import Trace
from crag.core.types import Chunk, Grade, Strip, WebPage
from crag.engine import Engine
from crag.pipeline.following import follow_run
from crag.text.injection import detect_injection, mask_injection

__all__ = ["documents_of", "question_of", "trace_async"]


def question_of(query: object) -> str:
    """What is asked. Raises QuestionError for anything but a text."""
    if not isinstance(query, str):
        raise QuestionError(f"The question is no text but of type {type(query).__name__}.")
    return query


async def trace_async(engine: Engine, request: RunRequest) -> Trace:
    """`Engine.trace` for a coroutine. Cancelling the coroutine stops the run, which is stored all the same."""
    cancel = request.cancel or threading.Event()
    run = engine.ask(replace(request, cancel=cancel))

    def raising() -> Generator[Event, None, None]:
        ended: CragError | None = yield from run
        if ended is not None:
            raise ended

    trace = Trace()
    async for event in follow_run(raising(), cancel):
        trace = trace.apply(event)
    return trace


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
    text = _whole(original, source) if whole else _join_strips(source.text, strips)
    described = _of_chunk(source) if isinstance(source, Chunk) else _of_page(source)
    said = original.metadata if original else {}
    spans = [{"start": each.start, "end": each.end} for each in detect_injection(text)]
    marks = {"untrusted": spans} if spans else {}
    return Document(
        id=original.id if original else source.id,
        page_content=text,
        metadata={**described, **said, **_describe_judgement(trace, source, strips), **marks},
    )


def _whole(original: Document | None, source: Chunk | WebPage) -> str:
    """All of a source's text that the run read."""
    if original:
        return original.page_content
    erased = isinstance(source, WebPage) and any(each.erased for each in source.addressed)
    return mask_injection(source.text) if erased else source.text


def _join_strips(text: str, strips: Sequence[Strip]) -> str:
    """Strips in reading order: those that follow on one another as they stand, others on lines of their own."""
    pieces, end = [""], None
    for strip in strips:
        if end is not None:
            between = text[end : strip.start]
            pieces.append("\n" if between.strip() else between)
        pieces.append(strip.text)
        end = strip.end
    return "".join(pieces)


def _of_chunk(chunk: Chunk) -> dict[str, Any]:
    """What it is, without what is not known. `page` counts from 1."""
    known = {
        "source": chunk.source,
        "title": chunk.title,
        "page": chunk.page,
        "place": chunk.place,
        "url": chunk.url,
        "date": chunk.dated,
    }
    return {key: value for key, value in known.items() if value}


def _of_page(page: WebPage) -> dict[str, Any]:
    known = {"source": page.title or page.url, "title": page.title, "url": page.url, "date": page.published}
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
