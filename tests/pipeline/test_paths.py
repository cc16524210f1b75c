"""Every strategy takes the steps that its source describes, for every outcome of its evaluator."""

import threading
from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.errors import CancelledError
from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action, RetrievedChunk
from crag.pipeline.graph import run_graph
from crag.runtime.usage import UsageTracker
from crag.testing.fakes import FixedWeb, ScriptedEvaluator, chunk_of
from tests.support.paths import BAD, GOOD, QUESTION, SOSO, WEB, Case

BEFORE = ["retrieve", "evaluate", "act"]
ONLINE = ["rewrite", "search"]


@pytest.mark.parametrize(
    ("strategy", "texts", "joint", "action", "path", "kept"),
    [
        ("balanced", [GOOD, BAD], None, "CORRECT", [*BEFORE, "refine", "answer", "verify"], {"internal"}),
        (
            "balanced",
            [SOSO, BAD],
            None,
            "AMBIGUOUS",
            [*BEFORE, "refine", *ONLINE, "refine", "answer", "verify"],
            {"internal", "external"},
        ),
        (
            "balanced",
            [BAD, BAD],
            None,
            "INCORRECT",
            [*BEFORE, "rewrite", *BEFORE, *ONLINE, "refine", "answer", "verify"],
            {"external"},
        ),
        ("paper", [GOOD, BAD], None, "CORRECT", [*BEFORE, "refine", "answer"], {"internal"}),
        ("paper", [BAD], None, "INCORRECT", [*BEFORE, *ONLINE, "refine", "answer"], {"external"}),
        (
            "three-way",
            [GOOD, SOSO],
            None,
            "AMBIGUOUS",
            [*BEFORE, "refine", *ONLINE, "answer"],
            {"internal", "external"},
        ),
        ("joint", [GOOD], 0.95, "CORRECT", [*BEFORE, "refine", "answer"], {"internal"}),
        ("joint", [GOOD], 0.6, "AMBIGUOUS", [*BEFORE, "refine", *ONLINE, "answer"], {"internal", "external"}),
        ("binary-any", [GOOD, BAD], None, "CORRECT", [*BEFORE, "answer"], {"internal"}),
        ("binary-strict", [GOOD, GOOD], None, "CORRECT", [*BEFORE, "answer"], {"internal"}),
        (
            "loop",
            [GOOD],
            0.1,
            "INCORRECT",
            [*BEFORE, "rewrite", *BEFORE, "rewrite", *BEFORE, "answer", "verify"],
            {"internal"},
        ),
        ("plain-rag", [GOOD, BAD], None, None, ["retrieve", "answer"], {"internal"}),
    ],
)
def test_order_of_steps(
    strategy: str, texts: list[str], joint: float | None, action: str | None, path: list[str], kept: set[str]
) -> None:
    case = Case(strategy, texts, joint=joint, web=FixedWeb(texts=WEB))
    assert case.trace.action == action
    assert case.path == path
    assert case.kept_sources == kept
    assert case.trace.answer is not None
    assert all(record.seconds is not None for record in case.trace.steps)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_ends_with_an_answer_whatever_it_finds(name: str) -> None:
    for texts in ([GOOD, GOOD], [SOSO, BAD], [BAD, BAD], ["broken", BAD], []):
        for web in (None, FixedWeb(texts=WEB), FixedWeb(fails=True)):
            case = Case(name, texts, joint=0.5 if texts != [BAD, BAD] else 0.1, web=web)
            assert case.trace.answer is not None, (texts, web)
            if not case.trace.kept():
                assert case.trace.answer.abstained


def test_the_question_is_graded_and_answered_not_the_rewritten_query() -> None:
    case = Case("balanced", [BAD], web=FixedWeb(texts=WEB))
    assert {question for question, _ in case.evaluator.graded} == {QUESTION}
    assert case.web is not None
    assert case.web.queries == [case.trace.searches[0].query] != [QUESTION]
    assert case.retriever.asked[0] == QUESTION
    assert case.retriever.asked[1] == case.trace.rewrites[0].query


def test_a_failed_grade_stays_a_failed_grade() -> None:
    case = Case("balanced", ["broken text of a chunk", BAD], web=FixedWeb(texts=WEB))
    decision = case.trace.decision
    assert decision is not None and (decision.action, decision.unknown) == (Action.AMBIGUOUS, 1)
    assert case.trace.rounds[0].grades["paper.pdf-1-0"].failed


def test_only_relevant_chunks_are_kept_where_the_strategy_says_so() -> None:
    case = Case("binary-strict", [GOOD, BAD], web=FixedWeb(texts=WEB))
    assert {strip.text for strip in case.trace.kept("internal")} == {GOOD}


def test_of_a_long_web_page_the_strips_that_share_words_with_the_question_are_scored() -> None:
    filler = " ".join(f"Sentence number {n} is about something else altogether." for n in range(200))
    case = Case("balanced", [BAD], web=FixedWeb(texts=[f"{filler} Paris holds that capital, anywhere in France."]))
    (strips,) = (group for source, group in case.trace.strips.items() if source.startswith("web-"))
    assert strips[-1].score == 0.95 and strips[-1].kept
    assert 0 < sum(strip.score is not None for strip in strips) < len(strips)


def test_three_way_cuts_the_graded_text() -> None:
    case = Case("three-way", ["x" * 5000], web=FixedWeb(texts=WEB))
    assert len(case.evaluator.graded[0][1]) == 2000


@pytest.mark.parametrize(
    ("confidence", "abstained", "low"),
    [(None, False, False), (0.1, True, True), (0.2, False, True), (0.49, False, True), (0.5, False, False)],
)
def test_the_confidence_decides_whether_an_answer_is_given_and_marked(
    confidence: float | None, abstained: bool, low: bool
) -> None:
    floors = {"min_answer_confidence": 0.2, "confident_answer": 0.5}
    case = Case("balanced", [GOOD, BAD], confidence=confidence, changes=floors)
    answer = case.trace.answer
    assert answer is not None and case.trace.action is Action.CORRECT
    assert (answer.abstained, answer.low_confidence, answer.confidence) == (abstained, low, confidence)


def test_stop_ends_the_run_at_the_next_grade() -> None:
    stop = threading.Event()

    def stopping(text: str) -> float:
        stop.set()
        return 0.5

    case = Case("plain-rag", [GOOD])
    evaluator, meter, stored = ScriptedEvaluator(score=stopping), UsageTracker(cancel=stop), list[str]()
    parts = replace(case.parts, settings=Settings(), evaluator=evaluator, meter=meter)
    parts = replace(parts, store_grades=lambda: stored.append("what was graded"))
    with pytest.raises(CancelledError):
        list(run_graph(QUESTION, parts))
    assert stored == ["what was graded"]


def test_events_arrive_while_the_step_is_under_way() -> None:
    """The first grade is out before the second chunk is graded: its grading waits for whoever reads the events."""
    first_seen, graded = threading.Event(), []

    def waiting(text: str) -> float:
        if graded and not first_seen.wait(60):
            pytest.fail("the first grade was held back until the step ended")
        graded.append(text)
        return 0.9

    case = Case("plain-rag", [GOOD, SOSO])
    parts = replace(case.parts, settings=Settings(), evaluator=ScriptedEvaluator(score=waiting))
    for event in run_graph(QUESTION, parts):
        if isinstance(event, ev.Graded):
            first_seen.set()
    assert graded[:2] == [GOOD, SOSO]


def test_who_stops_following_ends_the_run_at_its_next_event() -> None:
    gone, graded = threading.Event(), list[str]()

    class Waiting:
        def search(self, query: str, k: int) -> list[RetrievedChunk]:
            gone.wait(60)
            return rank_chunks([chunk_of(GOOD)])

    def grading(text: str) -> float:
        graded.append(text)
        return 0.9

    case = Case("balanced", [GOOD])
    run = run_graph(QUESTION, replace(case.parts, retriever=Waiting(), evaluator=ScriptedEvaluator(score=grading)))
    assert isinstance(next(iter(run)), ev.StepStarted)
    threading.Timer(0.1, gone.set).start()
    run.close()  # type: ignore[attr-defined]
    assert not graded and not [each for each in threading.enumerate() if each.name.startswith("crag-run")]
