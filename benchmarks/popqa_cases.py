"""PopQA questions with the paper's own internal and web knowledge, as chunks to retrieve and pages to find."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from corpora.published_sets import read_published
from corpora.rows import read_rows
from crag.analysis.questions.matching import holds
from crag.analysis.questions.sets import Question
from crag.core.trace import Trace
from crag.core.types import Chunk, WebPage

Part = Literal["dev", "held-out"]

TITLE_WORDS = 10
"""A piece of fewer words than this is a title that the paper's code set before a passage."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its internal passages as chunks in the file's order, and its web passages."""

    question: Question
    chunks: tuple[Chunk, ...]
    web: tuple[str, ...]

    @property
    def part(self) -> Part:
        return part_of(self.question.id)


class OwnPages:
    """A web that finds a question's own passages, whatever the query: the paper's searches, as it stored them."""

    name, leaves = "paper", False
    problems: tuple[str, ...] = ()

    def __init__(self, case: Case) -> None:
        """`id` is the question's: what is remembered of one question's searches is no other's."""
        self.id = f"paper-{case.question.id}"
        self._texts = case.web

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """The first `max_results` passages, in the file's order."""
        return [
            WebPage(
                id=f"{self.id}-{rank}",
                url=f"https://example.org/{self.id}/{rank}",
                title=text.partition(": ")[0],
                text=text,
                provider=self.name,
                query=query,
                rank=rank,
            )
            for rank, text in enumerate(self._texts[:max_results], start=1)
        ]


def part_of(id: str) -> Part:
    """Which half a question belongs to, by a hash of its id: the same in every run."""
    return "dev" if hashlib.sha256(f"popqa {id}".encode()).digest()[0] % 2 == 0 else "held-out"


def load_cases(data: Path) -> list[Case]:
    """All questions of knowledge.jsonl, read as our own questions. Raises OSError, InputError."""
    path = data / "popqa" / "knowledge.jsonl"
    read = read_published(path)
    rows = read_rows(path)
    if len(read.questions) != len(rows) or read.problems:
        raise ValueError(f"{path.name}: {len(read.problems)} rows could not be read")
    return [_case(question, row) for question, row in zip(read.questions, rows, strict=True)]


def _case(question: Question, row: Mapping[str, Any]) -> Case:
    texts = passages(row["crag_internal_knowledge"])
    chunks = tuple(_chunk(question.id, place, text, title="") for place, text in enumerate(texts))
    return Case(question, chunks, tuple(text for text in row["crag_web_knowledge"] if text.strip()))


def passages(knowledge: str) -> list[str]:
    """The passages of the paper's internal knowledge, which stand apart by two or more blanks or a line break.

    A title joins the passage after it, as its first line; at the end, the one before.
    """
    found: list[str] = []
    titles: list[str] = []
    for piece in filter(None, re.split(r"\s{2,}|[\r\n]+", knowledge.strip())):
        if len(piece.split()) < TITLE_WORDS:
            titles.append(piece)
        else:
            found.append("\n".join([*titles, piece]))
            titles = []
    if titles and found:
        found[-1] = "\n".join([found[-1], *titles])
    elif titles:
        found = ["\n".join(titles)]
    return found


def with_retrieved(cases: Sequence[Case], data: Path) -> list[Case]:
    """Those cases that have passages as a retriever brought them, with these as their chunks, best first."""
    rows = {str(row["id"]): row["passages"] for row in read_rows(data / "popqa" / "test.jsonl")}
    return [
        replace(case, chunks=retrieved_chunks(case.question.id, rows[case.question.id]))
        for case in cases
        if case.question.id in rows
    ]


def retrieved_chunks(question: str, texts: Sequence[Mapping[str, Any]]) -> tuple[Chunk, ...]:
    """Best first: the data's ranks rise towards the best (the last is the subject's page in 45 %, the first in 8 %)."""
    best_first = sorted(texts, key=lambda each: -int(each["rank"]))
    return tuple(_chunk(question, int(each["rank"]), each["text"], title=each["title"]) for each in best_first)


def _chunk(question: str, place: int, text: str, *, title: str) -> Chunk:
    """A title, where there is one, is graded and indexed with the text, as a document's is."""
    name = f"{question}.txt"
    return Chunk(
        id=f"popqa-{question}-{place}",
        document_id=f"popqa-{question}",
        source=name,
        title=title,
        page=1,
        ordinal=place,
        start=0,
        end=len(text),
        text=text,
        context=title,
    )


def web_holds(case: Case) -> bool:
    """Whether a web passage holds an accepted answer."""
    return any(holds(text, case.question.answers) for text in case.web)


def own_holds(trace: Trace, case: Case) -> bool:
    """Whether the evidence kept of the question's own passages and web pages holds an accepted answer.

    In a library of all questions another one's passages may hold it by chance.
    """
    own = f"popqa-{case.question.id}"
    texts: dict[str, list[str]] = {}
    for strip in trace.kept():
        if strip.origin == "external" or strip.source_id.rpartition("-")[0] == own:
            texts.setdefault(strip.source_id, []).append(strip.text)
    return any(holds("\n".join(parts), case.question.answers) for parts in texts.values())


def ceilings(cases: Sequence[Case]) -> dict[str, float]:
    """The shares of questions with an accepted answer in a chunk of their own, in a web passage, in either."""
    inside = [any(holds(chunk.text, case.question.answers) for chunk in case.chunks) for case in cases]
    online = [web_holds(case) for case in cases]
    either = [one or other for one, other in zip(inside, online, strict=True)]
    return {
        name: sum(found) / len(cases) for name, found in (("internal", inside), ("web", online), ("either", either))
    }
