"""Help where there is no answer: when it is told, what is in it, and a run that turns to the web alone."""

from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.events import Guidance, event_from_json, event_to_json
from crag.core.policy import to_web
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Chunk, Strip
from crag.messages.answers import web_text
from crag.pipeline.guiding import QUOTE, guide
from crag.testing.fakes import FixedWeb, chunk_of
from tests.support.paths import BAD, GOOD, QUESTION, WEB, Case

CLAIMS = "OPM processed 104,065 claims in FY 2019."
BRIDGE = "Ada Long crossed the northern bridge in May 2018."


def pages(*texts: str) -> list[Chunk]:
    return [chunk_of(text, page=place + 1) for place, text in enumerate(texts)]


def helped(chunks: list[Chunk]) -> Guidance:
    scored = [(chunk, place / 100) for place, chunk in enumerate(chunks)]
    return guide(QUESTION, scored, (), 6, "", web=False)


def test_only_a_run_without_an_answer_is_helped_on() -> None:
    assert Case("balanced", [GOOD], web_offered=False).trace.guidance is None
    case = Case("balanced", [BAD], web_offered=False)
    guidance = case.trace.guidance
    assert case.trace.answer is not None and case.trace.answer.abstained and guidance is not None
    kinds = [event.kind for event in case.events]
    assert kinds.index("guided") > kinds.index("answered"), "the answer waits for nothing"
    assert guidance.near[0].score == 0.02 and not guidance.web


def test_an_incorrect_without_anything_from_the_web_is_helped_on_whatever_is_answered() -> None:
    case = Case("loop", [GOOD], joint=0.1, web_offered=False)
    assert case.trace.answer is not None and not case.trace.answer.abstained
    assert case.trace.guidance is not None


def test_passages_are_the_best_scored_ones_and_short() -> None:
    near = helped(pages(CLAIMS, "word " * 500)).near
    assert [each.score for each in near] == [0.01, 0.0] and all(len(each.quote) <= QUOTE + 2 for each in near)


def test_a_ruled_line_is_no_passage() -> None:
    [chunk] = pages(f"_____\n\n{BRIDGE}")
    rule = Strip(id="s", source_id=chunk.id, origin="internal", start=0, end=5, text="_____", score=0.9, kept=False)
    for strips in ((), (rule,)):
        [near] = guide("What is the name?", [(chunk, 0.1)], strips, 6, "", web=False).near
        assert near.quote == BRIDGE


def test_the_query_is_the_one_that_was_sent() -> None:
    case = Case("balanced", [BAD], web=FixedWeb(texts=[]), web_offered=False)
    assert case.trace.guidance is not None and case.web is not None
    assert [case.trace.guidance.query] == case.web.queries
    assert "was searched" in web_text(case.trace, on=True)


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
    event = ev.GuidanceOffered(guidance=helped(pages(CLAIMS)), at=1.0)
    assert event_from_json(event_to_json(event)) == event
    trace = Case("balanced", [BAD], web_offered=False).trace
    assert Trace.from_json(trace.to_json()) == trace
    assert Trace.from_json(replace(trace, guidance=None).to_json()).guidance is None
