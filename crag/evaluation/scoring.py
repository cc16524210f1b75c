"""What scores strips: a grader that reads them in their text, or any evaluator, one strip after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from crag.core.protocols import RetrievalEvaluator, StripGrader
from crag.core.types import Chunk, Grade, Passage, WebPage
from crag.text.words import words

JOINED = 3
"""Best passages that are also read as one."""


def joint_grade(
    grade: Callable[[str, Sequence[Passage]], Iterator[Grade]], question: str, passages: Sequence[Passage], by: str
) -> Grade:
    """The best passage's grade, or that of the best three read as one if it is higher; failed if none was graded."""
    began = time.perf_counter()
    grades = list(grade(question, passages))
    scored = sorted((each for each in grades if each.score is not None), key=lambda each: -(each.score or 0))
    if not scored:
        failed = next((each for each in grades if each.error), None)
        took = time.perf_counter() - began
        if failed:
            return replace(failed, passage_id="joint", evaluator=by, seconds=took)
        return Grade(passage_id="joint", score=None, error="no passage could be graded", evaluator=by, seconds=took)
    texts = {passage.id: passage.text for passage in passages}
    graded = [scored[0]]
    if len(scored) > 1:
        joined = "\n".join(texts[each.passage_id] for each in scored[:JOINED])
        graded += [each for each in grade(question, [Passage(id="joint", text=joined)]) if each.score is not None]
    top = max(graded, key=lambda each: each.score or 0)
    reason = f"best of {len(scored)} passages: {top.reason}"
    return Grade(passage_id="joint", score=top.score, reason=reason, evaluator=by, seconds=time.perf_counter() - began)


Span = tuple[int, int]
Scores = list[float | None]
Decomposed = tuple[Chunk | WebPage, Sequence[Span]]
"""A source and its strips, each as [start, end) of its text."""

PAGE_STRIPS = 60
"""How many strips of one web page are scored alone: those that share most words with the question."""
PIECE_CHARS = 3_000
READ_CHARS = 12_000
"""A longer web page is read in pieces of whole strips; of those, the ones that share most words with the question."""


class StripScorer(Protocol):
    """Scores the strips of chunks and web pages."""

    def scores(self, question: str, sources: Sequence[Decomposed]) -> Iterator[Scores]:
        """For each source a score 0..1 of every strip; None where it was not read or not judged."""
        ...


class InContext:
    """Has the strips of a source scored in the text that the source was graded by, or in pieces of a long page."""

    def __init__(self, grader: StripGrader) -> None:
        self._grader = grader

    def scores(self, question: str, sources: Sequence[Decomposed]) -> Iterator[Scores]:
        """One reading a chunk; a web page's title stands in front of each of its pieces."""
        for source, spans in sources:
            found: dict[Span, float | None] = {}
            for passage, own, within in _passages(source, spans, question):
                found.update(zip(own, self._grader.grade_strips(question, passage, within), strict=True))
            yield [found.get(span) for span in spans]


class OneByOne:
    """Has each strip graded as a passage of its own, without its context; the strips of all sources in one call."""

    def __init__(self, evaluator: RetrievalEvaluator, check: Callable[[], None] = lambda: None) -> None:
        """`check` is called between grades and raises to stop."""
        self._evaluator, self._check = evaluator, check

    def scores(self, question: str, sources: Sequence[Decomposed]) -> Iterator[Scores]:
        """The grade of each strip's text; None where that failed. Of a long web page the likeliest are read."""
        passages: list[Passage] = []
        for source, spans in sources:
            texts = [source.text[start:end] for start, end in spans]
            places = likeliest(texts, question) if isinstance(source, WebPage) else range(len(texts))
            passages += [Passage(id=f"{source.id}:{place}", text=texts[place]) for place in places]
        found: dict[str, float | None] = {}
        for grade in self._evaluator.grade(question, passages):
            self._check()
            found[grade.passage_id] = grade.score
        for source, spans in sources:
            yield [found.get(f"{source.id}:{place}") for place in range(len(spans))]


def likeliest(texts: Sequence[str], question: str, most: int = PAGE_STRIPS) -> list[int]:
    """The places of the `most` texts that share most words with the question, in order; ties go to the first."""
    asked = set(words(question))
    ranked = sorted(range(len(texts)), key=lambda place: -len(asked.intersection(words(texts[place]))))
    return sorted(ranked[:most])


def _passages(
    source: Chunk | WebPage, spans: Sequence[Span], question: str
) -> Iterator[tuple[Passage, Sequence[Span], Sequence[Span]]]:
    """What is read of a source: each text, with strips of it as spans of the source and as spans of that text."""
    if isinstance(source, Chunk):
        if spans:
            yield Passage(id=source.id, text=source.graded_text()), spans, source.graded_spans(spans)
        return
    title = f"{source.title}\n" if source.title else ""
    for own in _pieces(source.text, spans, question):
        start, end = own[0][0], own[-1][1]
        shift = len(title) - start
        within = [(first + shift, last + shift) for first, last in own]
        yield Passage(id=source.id, text=title + source.text[start:end]), own, within


def _pieces(text: str, spans: Sequence[Span], question: str) -> list[list[Span]]:
    """The strips of a page, in pieces that are read as one text each; of a long page not all of them."""
    if not spans or spans[-1][1] - spans[0][0] <= READ_CHARS:
        return [list(spans)] if spans else []
    pieces: list[list[Span]] = []
    for span in spans:
        if pieces and span[1] - pieces[-1][0][0] <= PIECE_CHARS:
            pieces[-1].append(span)
        else:
            pieces.append([span])
    texts = [text[piece[0][0] : piece[-1][1]] for piece in pieces]
    return [pieces[place] for place in likeliest(texts, question, READ_CHARS // PIECE_CHARS)]
