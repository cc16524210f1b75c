"""Small parts that answer what they are told to: for tests and demonstrations of the graph, beside the protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crag.core.errors import WebSearchError
from crag.core.types import Chunk, Grade, Passage, RetrievedChunk, WebPage

__all__ = ["FixedRetriever", "FixedWeb", "ScriptedEvaluator", "chunk_of"]


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


@dataclass(kw_only=True)
class FixedRetriever:
    """Returns the chunks given for a query, or those given for any other; remembers what it was asked."""

    chunks: Sequence[Chunk]
    by_query: Mapping[str, Sequence[Chunk]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        self.asked.append(query)
        chunks = self.by_query.get(query, self.chunks)[:k]
        return [
            RetrievedChunk(chunk=chunk, rank=rank, similarity=1 / rank) for rank, chunk in enumerate(chunks, start=1)
        ]


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
class FixedWeb:
    """Returns one page a text, or fails where told to; remembers the queries that left."""

    texts: Sequence[str] = ()
    fails: bool = False
    name: str = "fixed"
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
