"""Small parts with scripted answers: for tests and demonstrations of the graph, beside the protocols."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crag.core.errors import ProviderError, ReplyError, WebSearchError
from crag.core.protocols import Messages, Parsed
from crag.core.ranking import rank_chunks
from crag.core.types import (
    Chunk,
    Grade,
    GradedText,
    Passage,
    QuotedAnswer,
    RetrievedChunk,
    SetGrade,
    SetReadings,
    SpanReading,
    Unread,
    WebPage,
)
from crag.ingest.grid import cells_of_rows
from crag.ingest.sections import write_table
from crag.runtime.waiting import Clock


def chunk_of(text: str, *, name: str = "paper.pdf", page: int = 1, ordinal: int = 0) -> Chunk:
    """A chunk that holds exactly `text`."""
    return Chunk(
        id=f"{name}-{page}-{ordinal}",
        document_id=name,
        source=name,
        title=name,
        page=page,
        ordinal=ordinal,
        start=0,
        end=len(text),
        text=text,
    )


def table_chunk_of(*rows: Sequence[str]) -> Chunk:
    """A chunk that is one table, as a reader makes it; the first row names its columns."""
    [block] = write_table(cells_of_rows(rows, headed=True))
    assert block.table is not None
    return replace(chunk_of(block.text), kind="table", tables=(block.table,))


@dataclass(kw_only=True)
class FixedRetriever:
    """Returns the chunks given for a query, or those given for any other; remembers what it was asked."""

    chunks: Sequence[Chunk]
    by_query: Mapping[str, Sequence[Chunk]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        self.asked.append(query)
        return rank_chunks(self.by_query.get(query, self.chunks)[:k])


@dataclass(kw_only=True)
class ScriptedEvaluator:
    """Scores a passage by a function of its text; None means that grading it fails. Remembers what it graded."""

    score: Callable[[str], float | None]
    joint: float | None = 0.5
    id: str = "scripted"
    calls_models: bool = False
    graded: list[tuple[str, str]] = field(default_factory=list)

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        for passage in passages:
            self.graded.append((question, passage.text))
            yield self._grade(passage.id, self.score(passage.text))

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        self.graded.append((question, "\n".join(passage.text for passage in passages)))
        return self._grade("joint", self.joint)

    def _grade(self, passage_id: str, score: float | None) -> Grade:
        error = "The evaluator did not answer." if score is None else None
        return Grade(passage_id=passage_id, score=score, error=error, evaluator=self.id, reason="scripted")


@dataclass(kw_only=True)
class ScriptedReader:
    """Finds the first of the given words that a text holds, as surely as they say; remembers what it read."""

    words: Mapping[str, float]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def read(self, question: str, passage: str) -> SpanReading | None:
        self.asked.append((question, passage))
        for word, confidence in self.words.items():
            if (start := passage.find(word)) >= 0:
                return SpanReading(start=start, end=start + len(word), confidence=confidence)
        return None


@dataclass
class ScriptedAnswerGrader:
    """Says that every answer is so likely right; remembers the answers."""

    confidence: float | None
    graded: list[QuotedAnswer] = field(default_factory=list)

    def grade_answer(self, question: str, answer: QuotedAnswer) -> float | None:
        self.graded.append(answer)
        return self.confidence


@dataclass
class ScriptedSetGrader:
    """Scores texts together by a function of them; remembers the sets that it graded."""

    score: Callable[[Sequence[GradedText]], float | None]
    id: str = "scripted"
    graded: list[tuple[GradedText, ...]] = field(default_factory=list)

    def grade_set(self, question: str, texts: Sequence[GradedText]) -> SetGrade | None:
        self.graded.append(tuple(texts))
        score = self.score(texts) if texts else None
        if score is None:
            return None
        best = max(texts, key=lambda each: each.score)
        readings = SetReadings(
            best=best.score,
            agreeing=0,
            covered=1.0,
            absent=(),
            years=(),
            years_asked=0,
            keywords=1.0,
            closeness=0.0,
            words=1,
        )
        return SetGrade(score=score, readings=readings, evaluator=self.id)


@dataclass(kw_only=True)
class ScriptedStripGrader:
    """Scores a strip by a function of its text and of the whole passage; remembers the passages that it read."""

    score: Callable[[str, str], float | None]
    id: str = "scripted strips"
    read: list[str] = field(default_factory=list)

    def grade_strips(self, question: str, passage: Passage, spans: Sequence[tuple[int, int]]) -> Sequence[float | None]:
        if not isinstance(passage.text, str):
            return [None] * len(spans)
        self.read.append(passage.text)
        return [self.score(passage.text[start:end], passage.text) for start, end in spans]


@dataclass
class FakeChat:
    """Replies by a function of the messages; remembers what it was asked. A ProviderError it returns is raised."""

    reply: Callable[[list[tuple[str, str]]], str | ProviderError]
    id: str = "fake:chat"
    asked: list[list[tuple[str, str]]] = field(default_factory=list)

    def text(self, messages: Messages, *, max_tokens: int) -> str:
        self.asked.append(list(messages))
        found = self.reply(list(messages))
        if isinstance(found, ProviderError):
            raise found
        return found

    def parsed(self, schema: type[Parsed], messages: Messages, *, max_tokens: int) -> Parsed:
        try:
            return schema.model_validate_json(self.text(messages, max_tokens=max_tokens))
        except ValueError as error:
            raise ReplyError("The reply is no such object.") from error

    def parsed_each(
        self, schema: type[Parsed], each: Sequence[Messages], *, max_tokens: int
    ) -> Iterator[tuple[int, Parsed | ProviderError, float]]:
        for place, messages in enumerate(each):
            try:
                yield place, self.parsed(schema, messages, max_tokens=max_tokens), 0.0
            except ProviderError as error:
                yield place, error, 0.0

    def written(self, messages: Messages, *, max_tokens: int, temperature: float = 0.0) -> Iterator[str]:
        yield from re.findall(r"(?<!\s)\s*+\S++", self.text(messages, max_tokens=max_tokens))


@dataclass(kw_only=True)
class FixedWeb:
    """Returns one page a text, or fails where set to; remembers the queries that left."""

    texts: Sequence[str] = ()
    fails: bool = False
    name: str = "fixed"
    id: str = "fixed"
    leaves: bool = False
    problems: tuple[Unread, ...] = ()
    queries: list[str] = field(default_factory=list)

    def search(self, query: str, max_results: int) -> list[WebPage]:
        self.queries.append(query)
        if self.fails:
            raise WebSearchError("The web search did not answer.")
        return [
            WebPage(
                id=f"web-{rank}",
                url=f"https://example.org/{rank}",
                title=f"Page {rank}",
                text=text,
                provider=self.name,
                query=query,
                rank=rank,
            )
            for rank, text in enumerate(self.texts[:max_results], start=1)
        ]


@dataclass(kw_only=True)
class FakeClock(Clock):
    """Time that passes when it is set to, on top of that which passes by itself; nobody waits in a pause.

    When `hangs` is set, what is waited for then has had all of its time: that once.
    """

    hangs: threading.Event = field(default_factory=threading.Event)
    pauses: list[float] = field(default_factory=list)
    ahead: float = 0.0
    _passed: bool = False

    def now(self) -> float:
        return time.monotonic() + self.ahead

    def timer(self, seconds: float) -> Callable[[], bool]:
        ends = self.now() + seconds

        def over() -> bool:
            if self.hangs.is_set() and not self._passed:
                self._passed = True
                self.ahead += max(0.0, ends - self.now()) + 0.001
            return self.now() > ends

        return over

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.ahead += seconds
        await asyncio.sleep(0)
