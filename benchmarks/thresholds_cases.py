"""The questions that thresholds are chosen on: data that may choose settings, none of it used to fit the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.evaluator_graders import terms
from benchmarks.evaluator_library import retrieval, spread, top_chunks
from benchmarks.evaluator_sets import titled
from corpora.rows import read_rows
from crag.core.types import Chunk

if TYPE_CHECKING:
    from benchmarks.retrieval import Question

Placed = Callable[[Sequence[tuple[int, int]]], Sequence[tuple[int, int]]]

STRANGERS = 60
"""Natural Questions asked of the FinanceBench library, which answers none of them."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question and what was retrieved for it: what the evaluator grades, and what is cut into strips.

    `holds` says of each text whether it answers: it holds an accepted answer, or stands on a gold page. `placed`: for
    each text, where spans of it stand in what is graded.
    """

    question: str
    graded: tuple[str, ...]
    texts: tuple[str, ...]
    holds: tuple[bool, ...]
    answers: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()

    @property
    def answerable(self) -> bool:
        return any(self.holds)


@dataclass(frozen=True, slots=True)
class CaseSet:
    """`counts`: whether the set takes part in the choice. `matched`: whether answers can be looked for in strips."""

    title: str
    about: str
    cases: Sequence[Case]
    counts: bool = True
    matched: bool = False


def load_cases(data: Path, limit: int = 0) -> list[CaseSet]:
    """All sets; `limit` cuts each to so many questions (and libraries to those questions' PDFs)."""
    return [
        CaseSet(
            "NQ",
            "5 retrieved passages; without the questions that are also in nq/train, which the evaluator was fitted on",
            retrieved(data, "nq", limit),
            matched=True,
        ),
        CaseSet("TriviaQA", "5 retrieved passages", retrieved(data, "triviaqa", limit), matched=True),
        CaseSet("Multi-hop QA", "10 retrieved passages", retrieved(data, "mhqa", limit), matched=True),
        CaseSet(
            "ASQA",
            "5 retrieved passages; shown only: its accepted answers are whole paragraphs, which no passage holds "
            "letter by letter, so its labels say unanswerable of questions that are not",
            retrieved(data, "asqa", limit),
            counts=False,
        ),
        *libraries(data, limit),
    ]


def retrieved(data: Path, name: str, limit: int) -> list[Case]:
    return [
        Case(
            question=row["question"],
            graded=tuple(titled(passage) for passage in row["passages"]),
            texts=tuple(passage["text"] for passage in row["passages"]),
            holds=tuple(bool(passage["answer_in_text"]) for passage in row["passages"]),
            answers=tuple(row["answers"]),
            placed=tuple(behind(passage) for passage in row["passages"]),
        )
        for row in spread(unseen(data, name), limit)
    ]


def behind(passage: dict[str, Any]) -> Placed:
    """The title stands in front of the text."""
    ahead = len(titled(passage)) - len(passage["text"])
    return lambda spans: [(start + ahead, end + ahead) for start, end in spans]


def unseen(data: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a retrieved set whose questions no training data asks: more than half of those for NQ are there."""
    trained = {words(row["question"]) for row in read_rows(data / "nq" / "train.jsonl")}
    return [row for row in read_rows(data / "retrieved" / f"{name}.jsonl") if words(row["question"]) not in trained]


def words(question: str) -> str:
    """A question without its case and punctuation."""
    return " ".join(terms(question))


def libraries(data: Path, limit: int) -> list[CaseSet]:
    """Questions asked of real PDFs with the product's own search; a gold page among the chunks makes one answerable."""
    made = retrieval()
    finance = spread(made.financebench(data), limit)
    nothing = [
        made.Question(row["question"], row["doc_id"], frozenset())
        for row in read_rows(data / "mmlongbench" / "questions.jsonl")
        if row["answer"] == "Not answerable"
    ]
    long = spread([*made.mmlongbench(data), *nothing], limit)
    strangers = [
        made.Question(row["question"], "", frozenset())
        for row in spread(unseen(data, "nq"), min(STRANGERS, limit or STRANGERS))
    ]
    found = asked(data / "financebench" / "pdfs", [*finance, *strangers], limit)
    return [
        CaseSet("FinanceBench", "the search's chunks from all its PDFs", found[: len(finance)]),
        CaseSet(
            "MMLongBench",
            "likewise; questions on charts and figures left out, those that people found unanswerable kept",
            asked(data / "mmlongbench" / "pdfs", long, limit),
        ),
        CaseSet("NQ asked of FinanceBench", "nothing there answers", found[len(finance) :]),
    ]


def asked(folder: Path, questions: Sequence[Question], limit: int) -> list[Case]:
    names = {question.source for question in questions} if limit else ()
    found = top_chunks(folder, [question.text for question in questions], names)
    return [case(question, chunks) for question, chunks in zip(questions, found, strict=True)]


def case(question: Question, chunks: Sequence[Chunk]) -> Case:
    return Case(
        question=question.text,
        graded=tuple(chunk.graded_text() for chunk in chunks),
        texts=tuple(chunk.text for chunk in chunks),
        holds=tuple(chunk.source == question.source and chunk.page in question.pages for chunk in chunks),
        placed=tuple(chunk.graded_spans for chunk in chunks),
    )
