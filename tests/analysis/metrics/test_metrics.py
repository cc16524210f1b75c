"""What a run is worth, worked out by hand; and None wherever the labels or the run do not tell."""

from dataclasses import fields, replace

import pytest

from crag.analysis.metrics.metrics import (
    ResultRow,
    action_right,
    evidence_holds,
    label_of,
    measure_run,
    rank_expected,
    round_holds,
)
from crag.analysis.metrics.results import flat
from crag.analysis.questions.sets import UNANSWERABLE, Question
from crag.core import events as ev
from crag.core.ranking import rank_chunks
from crag.core.trace import Rewrite, Round, Search, StepRecord, Trace
from crag.core.types import (
    Action,
    Answer,
    Call,
    Grade,
    ShortAnswer,
    Strip,
    WebPage,
)
from crag.evaluation.refinement import make_strip
from crag.testing.fakes import chunk_of
from tests.support.made import decided

ASKED = Question(
    id="q1",
    question="When was the long bridge opened?",
    answers=("1890", "4 March 1890"),
    sources=("Bridges.pdf",),
    pages=(3, 7),
)
UNLABELLED = Question(id="q2", question="When was it?")
PAGE = WebPage(id="w", url="https://example.org/", title="t", text="Web.", provider="folder", query="q", rank=1)


def retrieved(*chunks: tuple[str, int, str], action: Action | None = None) -> Round:
    """A retrieval of chunks given as (file, page, text)."""
    found = rank_chunks(
        chunk_of(text, name=name, page=page, ordinal=rank) for rank, (name, page, text) in enumerate(chunks, 1)
    )
    return Round(query="q", chunks=tuple(found), decision=decided(action) if action else None)


def strip(source: str, text: str, *, kept: bool = True) -> Strip:
    return make_strip(source, text, "internal", 0, len(text), 0.8, kept=kept)


OTHER = ("other.pdf", 3, "Nothing of use.")
NEAR = ("bridges.PDF", 2, "The bridge is long.")
GOOD = ("bridges.pdf", 7, "The bridge was opened on 4 March 1890.")
FIRST = retrieved(OTHER, NEAR, action=Action.INCORRECT)
SECOND = retrieved(OTHER, GOOD, GOOD, NEAR, action=Action.CORRECT)
KEPT = {
    "bridges.pdf-7-2": (strip("bridges.pdf-7-2", "The bridge was opened on 4 March"), strip("bridges.pdf-7-2", "1890."))
}
ANSWER = Answer(text="The bridge was opened on 4 March 1890 [1].", by="extractive")
RUN = Trace(
    run_id="r",
    question=ASKED.question,
    strategy="balanced",
    rounds=(FIRST, SECOND),
    rewrites=(Rewrite(query="bridge", purpose="library", by="k"),),
    strips=KEPT,
    answer=ANSWER,
    faithfulness=1.0,
    seconds=2.5,
    finished=True,
)


@pytest.mark.parametrize(
    ("found", "wanted", "ranked"),
    [
        ("xaybz", "ab", (1.0, 0.5)),
        ("xa", "ab", (0.5, 0.5)),
        ("xyz", "ab", (0.0, 0.0)),
        ("", "a", (0.0, 0.0)),
        ("abc", "", (None, None)),
    ],
)
def test_a_ranking_by_hand(found: str, wanted: str, ranked: tuple[float | None, ...]) -> None:
    """Recall, and what is reciprocal to the first rank."""
    assert rank_expected(found, wanted) == ranked


def test_a_corrected_run_by_hand() -> None:
    row = measure_run(RUN, ASKED)
    assert (row.first_recall, row.first_reciprocal_rank) == (0.0, 0.0)
    assert (row.acted_recall, row.acted_reciprocal_rank) == (0.5, 0.5), "one of two pages, in the second chunk"
    by_file = measure_run(RUN, replace(ASKED, pages=()))
    assert (by_file.first_recall, by_file.first_reciprocal_rank) == (1.0, 0.5)
    assert (row.judged_by, row.first_holds, row.acted_holds, row.rewrite_helped) == ("page", False, True, True)
    assert (row.first_right, row.action, row.acted_right) == (1.0, "CORRECT", 1.0)
    assert (row.evidence_answer, row.evidence_page, row.evidence_words) == (True, True, 8)
    assert row.answer_holds
    assert row.answer_f1 == pytest.approx(2 * 3 / (7 + 3)), "4, March and 1890 of seven words"
    assert (row.faithfulness, row.abstained, row.abstention_right, row.rewrites) == (1.0, False, True, 1)
    assert (row.seconds, row.problem, row.run_id) == (2.5, "", "r")


def from_web(url: str, expected: Question) -> ResultRow:
    """A run whose evidence is a page at `url`, found by searching."""
    page = replace(PAGE, url=url)
    searched = Search(query="q", provider="folder", pages=(page,))
    return measure_run(replace(RUN, searches=(searched,), strips={"w": (strip("w", "Opened in 1890."),)}), expected)


@pytest.mark.parametrize(
    ("source", "url", "there"),
    [
        ("folder:bridges.html", "folder:bridges.html", True),
        ("https://example.org/Bridges/", "https://example.org/bridges", True),
        ("https://example.org/bridges", "https://example.com/bridges", False),
        ("bridges.html", "folder:bridges.html", False),
    ],
)
def test_a_source_on_the_web_is_an_address(source: str, url: str, there: bool) -> None:
    """The library's rankings say nothing of it: it could not have been retrieved."""
    expected = replace(ASKED, sources=(source,), pages=())
    row = from_web(url, expected)
    assert row.evidence_source is there
    web = source.startswith(("folder:", "https:"))
    assert (row.first_recall is None) is (row.acted_recall is None) is web
    assert row.evidence_page is None


def test_a_library_lacks_what_is_on_the_web_alone() -> None:
    expected = Question(id="q", question="When?", sources=("folder:bridges.html",), pages=(7,))
    assert label_of(expected) == "source"
    row = measure_run(RUN, expected)
    assert (row.first_holds, row.acted_holds, row.evidence_source) == (False, False, False)
    both = replace(expected, sources=("folder:bridges.html", "bridges.pdf"))
    assert label_of(both) == "page", "there is one file, so the page is its"
    row = measure_run(RUN, both)
    assert (row.first_holds, row.acted_holds, row.evidence_source) == (False, True, True)
    assert row.acted_recall == 1.0


def test_nothing_is_guessed_without_labels() -> None:
    row = measure_run(RUN, UNLABELLED)
    known = {each.name for each in fields(ResultRow) if getattr(row, each.name) is not None}
    assert not known & {
        *("first_recall", "first_reciprocal_rank", "acted_recall", "acted_reciprocal_rank", "judged_by", "first_holds"),
        *("acted_holds", "first_right", "acted_right", "evidence_answer", "evidence_page"),
        *("evidence_source", "answer_f1", "answer_holds", "abstention_right", "rewrite_helped"),
    }
    assert (row.action, row.evidence_words, row.abstained) == (Action.CORRECT, 8, False)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"finished": False}, "The run did not end."),
        ({"cancelled": True}, "The run was stopped."),
        ({"failures": (ev.Failed(step="answer", cause="It broke.", remedy="", fatal=True, at=1.0),)}, "It broke."),
    ],
)
def test_a_run_that_broke_off_tells_of_its_retrieval_alone(changes: dict[str, object], problem: str) -> None:
    row = measure_run(replace(RUN, **changes), ASKED)  # type: ignore[arg-type]
    assert row.problem == problem
    assert (row.first_holds, row.acted_holds) == (False, True)
    assert (row.answer, row.answer_f1, row.abstained, row.evidence_answer, row.evidence_page) == ("", *[None] * 4)
    assert (row.evidence_words, row.seconds, row.abstention_right) == (None,) * 3


def test_failures_that_a_run_worked_around_do_not_unmake_it() -> None:
    worked_around = ev.Failed(step="search", cause="down", remedy="", at=1.0)
    assert measure_run(replace(RUN, failures=(worked_around,)), ASKED) == measure_run(RUN, ASKED)


# Labels


def test_the_finest_label_judges() -> None:
    assert label_of(ASKED) == "page"
    assert label_of(replace(ASKED, pages=())) == "answer"
    assert label_of(replace(ASKED, pages=(), answers=("Yes",))) == "source"
    assert label_of(replace(ASKED, labels=(UNANSWERABLE,))) == "unanswerable"
    assert label_of(UNLABELLED) is None
    assert label_of(replace(ASKED, sources=("a.pdf", "b.pdf"), answers=())) == "source", "whose page 3 is not told"


def test_a_retrieval_holds_the_page_the_answer_or_the_source() -> None:
    only_page = replace(ASKED, answers=("Friday",))
    elsewhere = retrieved(("other.pdf", 9, "It opened in 1890."))
    assert round_holds(SECOND, only_page) is True
    assert round_holds(elsewhere, only_page) is False
    assert round_holds(elsewhere, ASKED) is True, "the answer on another page will do"
    assert round_holds(elsewhere, replace(ASKED, pages=())) is True
    assert round_holds(FIRST, replace(ASKED, answers=())) is False, "another page, and page 3 of another file"
    assert round_holds(FIRST, replace(ASKED, pages=(), answers=())) is True
    assert round_holds(retrieved(), ASKED) is False
    assert round_holds(None, ASKED) is None
    assert round_holds(SECOND, UNLABELLED) is None


@pytest.mark.parametrize(
    ("action", "held", "right"),
    [
        (Action.CORRECT, True, 1.0),
        (Action.CORRECT, False, 0.0),
        (Action.INCORRECT, True, 0.0),
        (Action.AMBIGUOUS, True, 0.5),
        (Action.CORRECT, None, None),
        (None, True, None),
    ],
)
def test_actions_are_right_by_what_was_retrieved(action: Action | None, held: bool | None, right: float | None) -> None:
    assert action_right(action, held) == right


# Evidence and answers


def test_evidence_is_what_was_kept_from_anywhere() -> None:
    dropped = replace(RUN, strips={"bridges.pdf-7-2": (strip("bridges.pdf-7-2", GOOD[2], kept=False),)})
    assert evidence_holds(dropped, ASKED) == (False, False)
    assert measure_run(dropped, ASKED).evidence_words == 0
    web = replace(strip("w", "It was opened in 1890."), origin="external")
    from_web = replace(RUN, strips={"w": (web,)}, searches=(Search(query="q", provider="folder", pages=(PAGE,)),))
    assert evidence_holds(from_web, ASKED) == (True, False)
    apart = replace(RUN, strips={"a": (strip("a", "on 4 March"),), "b": (strip("b", "1890"),)})
    assert evidence_holds(apart, replace(ASKED, answers=("4 March 1890",))) == (False, False), "two sources, two texts"
    assert evidence_holds(RUN, replace(ASKED, answers=("No",))) == (None, True)


@pytest.mark.parametrize(
    ("abstained", "held", "right"),
    [(True, True, False), (True, False, True), (False, True, True), (False, False, False)],
)
def test_abstaining_is_right_where_nothing_kept_answers(abstained: bool, held: bool, right: bool) -> None:
    answer = replace(ANSWER, abstained=abstained)
    row = measure_run(replace(RUN, answer=answer, strips=KEPT if held else {}), ASKED)
    assert (row.abstained, row.abstention_right) == (abstained, right)


def test_the_short_answer_may_be_the_closer_one() -> None:
    place = {"citation": 1, "source_id": "s", "strip_id": "s", "start": 0, "end": 4}
    short = ShortAnswer(text=ASKED.answers[0], confidence=0.9, row="Net sales", **place)  # type: ignore[arg-type]
    said = replace(ANSWER, text="Nothing of the kind, as many other words say.")
    without = measure_run(replace(RUN, answer=said), ASKED)
    row = measure_run(replace(RUN, answer=replace(said, short=short)), ASKED)
    assert (without.answer_holds, without.short_answer) == (False, "")
    assert (row.answer_f1, row.answer_holds) == (1.0, True)
    assert flat(row)["short_answer"] == ASKED.answers[0]


def test_an_answer_that_no_text_can_be_compared_with_is_not_scored() -> None:
    """It was wrong before, whatever was answered."""
    long = " ".join(f"word{number}" for number in range(25))
    row = measure_run(RUN, replace(ASKED, answers=(long,), pages=(), sources=()))
    assert (row.answer_f1, row.answer_holds, row.evidence_answer) == (None,) * 3
    assert (row.abstention_right, row.judged_by) == (None, None) and row.unscored
    assert measure_run(RUN, replace(ASKED, answers=(long, *ASKED.answers))).unscored is False
    assert measure_run(RUN, replace(ASKED, answers=(long,), labels=(UNANSWERABLE,))).unscored is False


def test_grades_and_searches_of_earlier_runs_are_counted() -> None:
    grades = [Grade(passage_id=id, score=0.5, evaluator="e", cached=id != "b") for id in "abc"]
    last = RUN.rounds[-1]
    rounds = (*RUN.rounds[:-1], replace(last, grades={each.passage_id: each for each in grades}))
    search = Search(query="q", provider="p", pages=(), found_at="2026-11-20T00:00:00+00:00")
    assert measure_run(replace(RUN, rounds=rounds, searches=(search,)), ASKED).remembered == 3


def test_an_abstention_answers_nothing() -> None:
    """Even where its words would match."""
    row = measure_run(replace(RUN, answer=replace(ANSWER, abstained=True)), ASKED)
    assert (row.answer_f1, row.answer_holds) == (0.0, False)


@pytest.mark.parametrize("abstained", [True, False])
def test_what_is_unanswerable_is_abstained_from(abstained: bool) -> None:
    asked = replace(ASKED, labels=(UNANSWERABLE,))
    row = measure_run(replace(RUN, answer=replace(ANSWER, abstained=abstained)), asked)
    assert row.abstention_right is abstained
    assert (row.first_right, row.acted_right) == (1.0, 0.0)
    assert (row.answer_f1, row.rewrite_helped, row.judged_by) == (None, None, "unanswerable")


# What it took


def called(given: int | None = 10, *, error: str | None = None, model: str = "m") -> Call:
    return Call(
        step="answer", provider="p", model=model, seconds=1, input_tokens=given, output_tokens=given, error=error
    )


def test_effort_by_hand() -> None:
    graded = replace(
        FIRST,
        grades={"a": Grade(passage_id="a", score=None, error="x"), "b": Grade(passage_id="b", score=0.1)},
        joint=Grade(passage_id="j", score=None, error="x"),
    )
    run = replace(
        RUN,
        rounds=(graded, SECOND),
        web_grades={"w": Grade(passage_id="w", score=None, error="x")},
        searches=(Search(query="q", provider="folder", pages=()),),
        calls=(called(10), called(5), called(None, error="busy"), called(None, model="")),
        steps=(
            StepRecord(step="retrieve", round=0, started=0, seconds=0.25),
            StepRecord(step="retrieve", round=1, started=1, seconds=0.5),
            StepRecord(step="search", round=1, started=2, seconds=None),
        ),
    )
    row = measure_run(run, ASKED)
    assert (row.failed_grades, row.searches, row.calls, row.failed_calls) == (3, 1, 4, 1)
    assert (row.input_tokens, row.output_tokens) == (15, 15), "a failed call and a search have no tokens"
    assert measure_run(replace(RUN, calls=(called(10), called(None))), ASKED).input_tokens is None
    assert measure_run(RUN, ASKED).input_tokens == 0
