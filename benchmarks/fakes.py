"""Engines whose models and services answer at once: what is left is what the engine itself takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.core.config import AppConfig
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.types import Answer, Chunk, Citation, Document, LineBox, Rect, Strip, WebPage
from crag.engine import Engine
from crag.generation.verification import CitationVerifier
from crag.pipeline.context import EventEmitter, RunContext
from crag.pipeline.fallback import FallbackWeb
from crag.runtime.usage import UsageTracker
from crag.testing.fakes import FixedRetriever, FixedWeb, ScriptedEvaluator, chunk_of

SETTINGS = strategy("balanced").settings
SUBJECTS = "hiring retirement audits surveys training travel leave health records energy fleet security".split()
TEXTS = [
    " ".join(
        f"Part {part} of the chapter on {subject} begins with the year before that. "
        f"It took {40 + place + part} days on average in 2019."
        for part in range(6)
    )
    for place, subject in enumerate(SUBJECTS)
]
LINE = 80
"""Characters of a line; each has its rectangle on the page, as in a real library."""
PAGES = [f"Page {page} was found online in 2019. The second sentence was found online too." for page in range(3)]
BEFORE, AFTER = ("retrieve", "evaluate", "act"), ("answer", "verify")
ONLINE = ("rewrite_for_web", "search", "refine_pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One way through the graph: the score that every chunk gets, and the nodes that follow from it."""

    score: float
    nodes: tuple[str, ...]

    def of(self, text: str) -> float:
        """A web page is always good."""
        return 0.9 if "online" in text else self.score


PATHS = {
    "CORRECT": Course(score=0.9, nodes=(*BEFORE, "refine_documents", *AFTER)),
    "AMBIGUOUS, web": Course(score=0.3, nodes=(*BEFORE, "refine_documents", *ONLINE, *AFTER)),
    "INCORRECT, loop and web": Course(score=0.05, nodes=(*BEFORE, "rewrite_for_library", *BEFORE, *ONLINE, *AFTER)),
}


class HashEmbedder:
    """A text's vector is drawn from its hash."""

    id, dimension = "hash-1", 48

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        digests = [hashlib.sha384(text.encode()).digest() for text in texts]
        rows = np.array([list(digest) for digest in digests], np.float32).reshape(len(texts), self.dimension) - 127.5
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class AddedWord:
    """Rewrites a question by adding one word to it."""

    by = "fake"

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        return f"{question} {'again' if failed else 'online'}"


class FirstStrip:
    """Quotes the first strip, word by word, with its citation."""

    by = "fake"

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        strip = knowledge[0]
        text = f"{strip.text[:-1]} [1]."
        yield from (f"{word} " for word in text.split())
        cited = Citation(
            number=1,
            strip_id=strip.id,
            source_id=strip.source_id,
            origin=strip.origin,
            source="report.pdf",
            quote=strip.text,
        )
        yield Answer(text=text, by=self.by, citations=(cited,))


def engine_of(course: Course, data: Path) -> Engine:
    """An engine with fakes for models and services, over a real library of twelve chunks in `data`."""
    engine = Engine(
        AppConfig.of(data=data, all_questions_minute=0),  # a fast machine asks more than 600
        embedder=HashEmbedder(),
        evaluator=ScriptedEvaluator(score=course.of),
        web=FixedWeb(texts=PAGES),
        rewriter=AddedWord(),
        generator=FirstStrip(),
    )
    chunks = _chunks()
    document = Document(
        id="report.pdf",
        name="report.pdf",
        title="Report",
        size=3,
        pages=len(chunks),
        chunks=len(chunks),
        added_at="2026-01-01T00:00:00+00:00",
        model=HashEmbedder.id,
    )
    vectors = engine.embedder.embed([chunk.indexed_text for chunk in chunks])
    engine.library().documents.add(document, b"pdf", chunks, vectors)
    return engine


def parts_of(course: Course) -> RunContext:
    """What the engine's graph works with where there is no library, and nothing remembers grades."""
    evaluator, emitter, meter = ScriptedEvaluator(score=course.of), EventEmitter(), UsageTracker()
    return RunContext(
        settings=SETTINGS,
        retriever=FixedRetriever(chunks=_chunks()),
        evaluator=evaluator,
        rewriter=AddedWord(),
        web=FallbackWeb([FixedWeb(texts=PAGES)], emitter, meter),
        generator=FirstStrip(),
        verifier=CitationVerifier(evaluator),
        meter=meter,
        emitter=emitter,
    )


@cache
def _chunks() -> tuple[Chunk, ...]:
    chunks = (chunk_of(text, name="report.pdf", page=page) for page, text in enumerate(TEXTS, start=1))
    return tuple(replace(chunk, lines=_lines(chunk)) for chunk in chunks)


def _lines(chunk: Chunk) -> tuple[LineBox, ...]:
    starts = range(0, len(chunk.text), LINE)
    return tuple(
        LineBox(
            start=start,
            end=min(start + LINE, len(chunk.text)),
            rect=Rect(page=chunk.page, left=72, top=72 + 14 * line, right=540, bottom=84 + 14 * line),
        )
        for line, start in enumerate(starts)
    )
