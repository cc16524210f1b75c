"""Strips scored in their text or alone: each gets its own score, whatever stands in front of it and however long."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.core.tables import BESIDE, Cell, Row, Table
from crag.core.types import Chunk, Grade, Passage, WebPage
from crag.evaluation.refinement import PAGE_STRIPS, READ_CHARS, InContext, OneByOne, StripScorer, likeliest
from crag.testing.contracts import StripGraderContract
from crag.testing.fakes import FixedWeb, ScriptedEvaluator, ScriptedStripGrader, chunk_of

QUESTION = "How long is the northern bridge?"
SENTENCES = ["The bridge opened early.", "It is 467 m long.", "Ferries stopped."]


def spans_of(text: str, parts: list[str]) -> list[tuple[int, int]]:
    return [(text.index(part), text.index(part) + len(part)) for part in parts]


def scores_of(scorer: StripScorer, source: Chunk | WebPage, parts: list[str]) -> list[float | None]:
    (found,) = scorer.scores(QUESTION, [(source, spans_of(source.text, parts))])
    return found


def page(text: str) -> WebPage:
    (found,) = FixedWeb(texts=[text]).search("q", 1)
    return found


def seen(source: Chunk | WebPage, parts: list[str]) -> tuple[list[str], list[str]]:
    """The texts that a grader sees as strips, and the passages it reads."""
    strips: list[str] = []

    def score(strip: str, passage: str) -> float:
        strips.append(strip)
        return 0.5

    grader = ScriptedStripGrader(score=score)
    assert scores_of(InContext(grader), source, parts) == [0.5] * len(parts)
    return strips, grader.read


class TestScripted(StripGraderContract):
    def make(self) -> ScriptedStripGrader:
        return ScriptedStripGrader(score=lambda strip, passage: 0.9 if "1889" in strip else 0.1)


def test_the_rows_of_a_table_are_read_without_their_amounts() -> None:
    rows = ["(in millions)", "Net sales: 177,866", "Equity of 2: 6"]
    text = "\n".join(rows)
    places = [(text.index(row), text.index(row) + len(row)) for row in rows]
    found = tuple(
        Row(start, end, text.index(":", start), (Cell(BESIDE, text.index(":", start) + 2, end),))
        for start, end in places[1:]
    )
    table = Table(start=0, end=len(text), rows=found)
    chunk = replace(chunk_of(text), context="Report", kind="table", tables=(table,))
    strips, read = seen(chunk, rows)
    assert read == [chunk.graded_text()]
    assert strips == ["(in millions)", "Net sales:", "Equity of 2:"]


def test_a_web_page_is_read_behind_its_title() -> None:
    strips, read = seen(page(" ".join(SENTENCES)), SENTENCES)
    assert strips == SENTENCES
    assert read == ["Page 1\n" + " ".join(SENTENCES)]


def test_of_a_long_web_page_the_pieces_with_the_question_s_words_are_read() -> None:
    filler = [f"Number {place} of the notices says nothing at all about it." for place in range(1_000)]
    sentences = [*filler[:900], "The northern bridge is long: 467 m.", *filler[900:]]
    grader = ScriptedStripGrader(score=lambda strip, passage: float("467" in strip and "bridge" in strip))
    text = " ".join(sentences)
    found = scores_of(InContext(grader), page(text), sentences)
    assert found[900] == 1.0
    assert found.count(None) > 500
    assert sum(map(len, grader.read)) <= READ_CHARS * 1.01


def test_alone_a_strip_is_a_passage_and_a_failed_one_has_no_score() -> None:
    evaluator = ScriptedEvaluator(score=lambda text: None if "467" in text else 0.25)
    source = replace(chunk_of(" ".join(SENTENCES)), context="Report")
    found = scores_of(OneByOne(evaluator), source, SENTENCES)
    assert found == [0.25, None, 0.25]
    assert [text for _, text in evaluator.graded] == SENTENCES


def test_alone_the_strips_of_all_sources_are_graded_in_one_call() -> None:
    calls: list[int] = []

    class Counted(ScriptedEvaluator):
        def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
            calls.append(len(passages))
            return super().grade(question, passages)

    evaluator = Counted(score=lambda text: 0.9 if "467" in text else 0.1)
    sources = [(replace(chunk_of(text), id=text[:9]), spans_of(text, [text])) for text in SENTENCES]
    assert list(OneByOne(evaluator).scores(QUESTION, sources)) == [[0.1], [0.9], [0.1]]
    assert calls == [3]


def test_alone_at_most_so_many_strips_of_a_page_are_graded() -> None:
    sentences = [f"Number {place} of the notices." for place in range(100)] + ["The northern bridge is 467 m long."]
    text = " ".join(sentences)
    found = scores_of(OneByOne(ScriptedEvaluator(score=lambda text: 0.5)), page(text), sentences)
    assert found.count(None) == len(sentences) - PAGE_STRIPS
    assert found[-1] == 0.5


def test_the_likeliest_keep_their_order() -> None:
    assert likeliest(["bridge", "none", "northern bridge", "long bridge"], QUESTION, 2) == [2, 3]
