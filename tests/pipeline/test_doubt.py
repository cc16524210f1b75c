"""An INCORRECT by little: documents stay beside the web, corrective loops are made all the same, and it is said."""

import pytest

from crag.analysis.whatif.whatif import redecide
from crag.core.policy import acted_on
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action, Aggregation, Grade
from crag.evaluation.trigger import decide
from crag.testing.fakes import FixedWeb
from tests.support.paths import SOSO, WEB, Case

DOUBTING = {"upper": 0.6, "lower": 0.4, "ambiguity_margin": 0.1}


def decided(score: float, **changes: object) -> Action:
    settings = Settings().changed(**{**DOUBTING, **changes})
    decision = decide(
        [Grade(passage_id="a", score=score)], upper=settings.upper, lower=settings.lower, aggregation=Aggregation.ANY
    )
    return acted_on(decision, settings).action


@pytest.mark.parametrize(
    ("score", "action"), [(0.7, "CORRECT"), (0.39, "AMBIGUOUS"), (0.31, "AMBIGUOUS"), (0.29, "INCORRECT")]
)
def test_a_score_below_by_no_more_than_the_margin_is_ambiguous(score: float, action: str) -> None:
    assert decided(score) == Action(action)


def test_without_a_margin_nothing_is_doubted() -> None:
    assert decided(0.39, ambiguity_margin=0.0) is Action.INCORRECT


def test_nothing_retrieved_is_not_doubted() -> None:
    nothing = decide([], upper=0.6, lower=0.4, aggregation=Aggregation.ANY)
    assert acted_on(nothing, Settings(**DOUBTING)) is nothing


def test_a_doubted_run_loops_first_and_then_uses_documents_and_web() -> None:
    case = Case("balanced", [SOSO], again=[SOSO], changes=DOUBTING, web=FixedWeb(texts=WEB))
    first, last = case.trace.rounds
    assert first.decision is not None and last.decision is not None
    assert (first.decision.action, first.decision.doubt) == (Action.INCORRECT, 0.0)
    assert (last.decision.action, last.decision.doubt) == (Action.AMBIGUOUS, 0.1)
    assert case.kept_sources == {"internal", "external"}
    assert redecide(case.trace, case.settings).decision == last.decision


def test_the_published_designs_doubt_nothing_and_choose_strips_as_they_did() -> None:
    for name, each in STRATEGIES.items():
        found = each.settings
        new = (found.ambiguity_margin, found.strip_words, found.strip_context)
        assert (new == (0.0, 0, False)) == (name != "balanced")
