"""Help where there is no answer: when it is told, what is in it, and a run that turns to the web alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from crag.core import events as ev
from crag.core.errors import StorageError
from crag.core.events import About, Guidance, event_from_json, event_to_json
from crag.core.policy import to_web
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Chunk, RetrievedChunk, Strip
from crag.messages.answers import web_text
from crag.pipeline.guiding import CHECKED, QUOTE, SEARCHED, Guide
from crag.testing.fakes import FixedWeb, ScriptedEvaluator, chunk_of
from crag.text.words import words
from tests.support.paths import BAD, GOOD, QUESTION, WEB, Case

ABOUT = About(documents=1, titles=("Report",), headings=("Retirement Services",))
CLAIMS = "OPM processed 104,065 claims in FY 2019."
BRIDGE = "Ada Long crossed the northern bridge in May 2018."


@dataclass
class Likest:
    """Finds the chunk that shares most words with a query, of those that it is told to have."""

    chunks: Sequence[Chunk] = ()
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        self.asked.append(query)
        ranked = sorted(self.chunks, key=lambda chunk: -len(set(words(query)) & set(words(chunk.text))))
        return [RetrievedChunk(chunk=chunk, rank=1, similarity=1.0) for chunk in ranked[:k]]


def guide(
    score: float | None = 0.9, *, web: bool = False, found: Sequence[Chunk] = ()
) -> tuple[Guide, ScriptedEvaluator, Likest]:
    evaluator, retriever = ScriptedEvaluator(score=lambda text: score), Likest(found)
    return Guide(lambda: ABOUT, retriever, evaluator, web=web), evaluator, retriever


def pages(*texts: str) -> list[Chunk]:
    return [chunk_of(text, page=place + 1) for place, text in enumerate(texts)]


def helped(chunks: list[Chunk], made: Guide) -> Guidance:
    scored = [(chunk, place / 100) for place, chunk in enumerate(chunks)]
    return made.guidance(QUESTION, scored, (), STRATEGIES["balanced"].settings)


def test_only_a_run_without_an_answer_is_helped_on() -> None:
    made, evaluator, _ = guide()
    assert Case("balanced", [GOOD], guide=made).trace.guidance is None and not evaluator.graded
    case = Case("balanced", [BAD], guide=made)
    guidance = case.trace.guidance
    assert case.trace.answer is not None and case.trace.answer.abstained and guidance is not None
    kinds = [event.kind for event in case.events]
    assert kinds.index("guided") > kinds.index("answered"), "the answer waits for nothing"
    assert guidance.about == ABOUT and guidance.near[0].score == 0.02 and not guidance.web


def test_an_incorrect_without_anything_from_the_web_is_helped_on_whatever_is_answered() -> None:
    case = Case("loop", [GOOD], joint=0.1, guide=guide()[0])
    assert case.trace.answer is not None and not case.trace.answer.abstained
    assert case.trace.guidance is not None


def test_a_suggestion_is_told_only_where_its_text_answers_it() -> None:
    chunks = pages(CLAIMS, BRIDGE)
    sure = helped(chunks, guide(0.9, found=chunks)[0]).suggestions
    assert [(each.question, each.quote, each.score) for each in sure] == [
        ("Who crossed the northern bridge in May 2018?", BRIDGE, 0.9),
        ("Who processed 104,065 claims in FY 2019?", CLAIMS, 0.9),
    ]
    for score in (0.5, None):
        made, _, retriever = guide(score, found=chunks)
        assert helped(chunks, made).suggestions == () and not retriever.asked


def test_a_suggestion_is_told_only_where_its_question_finds_its_page() -> None:
    chunks = pages(CLAIMS, BRIDGE)
    [only] = helped(chunks, guide(found=chunks[:1])[0]).suggestions
    assert only.where == "page 1"
    assert helped(chunks, guide(found=())[0]).suggestions == ()


def test_no_more_is_read_than_is_allowed_and_no_more_told_than_three() -> None:
    chunks = pages(*(f"Ada Long crossed the northern bridge {place} in May 2018." for place in range(20)))
    weak, evaluator, _ = guide(0.1)
    assert helped(chunks, weak).suggestions == () and len(evaluator.graded) == CHECKED
    sure, _, retriever = guide(found=chunks)
    assert len(helped(chunks, sure).suggestions) == len(retriever.asked) == SEARCHED


def test_passages_are_the_best_scored_ones_and_short() -> None:
    near = helped(pages(CLAIMS, "word " * 500), guide()[0]).near
    assert [each.score for each in near] == [0.01, 0.0] and all(len(each.quote) <= QUOTE + 2 for each in near)


def test_a_ruled_line_is_no_passage() -> None:
    [chunk] = pages(f"_____\n\n{BRIDGE}")
    rule = Strip(id="s", source_id=chunk.id, origin="internal", start=0, end=5, text="_____", score=0.9, kept=False)
    made, settings = guide()[0], STRATEGIES["balanced"].settings
    for strips in ((), (rule,)):
        [near] = made.guidance("What is the name?", [(chunk, 0.1)], strips, settings).near
        assert near.quote == BRIDGE


def test_the_query_is_the_one_that_was_sent() -> None:
    case = Case("balanced", [BAD], web=FixedWeb(texts=[]), guide=guide()[0])
    assert case.trace.guidance is not None and case.web is not None
    assert [case.trace.guidance.query] == case.web.queries
    assert "was searched" in web_text(case.trace, on=True)


def test_a_library_that_fails_now_takes_no_answer_away() -> None:
    def fails() -> About:
        raise StorageError("The library failed.")

    case = Case("balanced", [BAD], guide=Guide(fails, Likest(), ScriptedEvaluator(score=lambda text: 0.9), web=False))
    assert case.trace.answer is not None and case.trace.guidance is None and case.trace.failure is None
    assert [failure.instead for failure in case.trace.failures] == ["no guidance"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_can_be_turned_to_the_web_with_exactly_that_query(name: str) -> None:
    settings = to_web(STRATEGIES[name].settings, "bridges, length")
    assert Settings.checked(settings.model_dump()) == settings
    changes = {key: value for key, value in settings.model_dump().items()}
    case = Case(name, [GOOD], joint=0.95, web=FixedWeb(texts=WEB), changes=changes)
    assert case.web is not None and case.web.queries == ["bridges, length"]
    assert case.kept_sources == {"external"}
    assert case.trace.rewrites[-1].by == "given"


def test_it_is_stored_and_a_run_without_it_still_shows() -> None:
    chunks = pages(CLAIMS)
    event = ev.GuidanceOffered(guidance=helped(chunks, guide(found=chunks)[0]), at=1.0)
    assert event_from_json(event_to_json(event)) == event
    trace = Case("balanced", [BAD], guide=guide()[0]).trace
    assert Trace.from_json(trace.to_json()) == trace
    assert Trace.from_json(replace(trace, guidance=None).to_json()).guidance is None
