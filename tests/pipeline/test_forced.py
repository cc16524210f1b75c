"""A forced action: scores, retrievals and sentence stay honest; only what follows the last retrieval differs."""

from dataclasses import replace

import pytest
from test_paths import BAD, BEFORE, GOOD, ONLINE, QUESTION, SOSO, WEB, Case

from crag.core.errors import SettingsError, UnreachableError
from crag.core.policy import acted_on
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Action, Aggregation
from crag.evaluation.trigger import decide
from crag.messages.wording import decision_sentence
from crag.pipeline.fallback import FallbackRewriter
from crag.pipeline.graph import run_graph
from crag.retrieval.rewriting import LlmRewriter
from crag.testing.fakes import FakeChat, FixedWeb

INTERNAL, EXTERNAL = {"internal"}, {"external"}


def forced(action: str, texts: list[str], *, strategy: str = "balanced", **given: object) -> Case:
    return Case(strategy, texts, web=FixedWeb(texts=WEB), changes={"forced": action}, **given)


@pytest.mark.parametrize(
    ("action", "path", "kept"),
    [
        ("CORRECT", [*BEFORE, "refine", "answer", "verify"], INTERNAL),
        ("AMBIGUOUS", [*BEFORE, "refine", *ONLINE, "refine", "answer", "verify"], INTERNAL | EXTERNAL),
        ("INCORRECT", [*BEFORE, *ONLINE, "refine", "answer", "verify"], EXTERNAL),
    ],
)
@pytest.mark.parametrize("texts", [[GOOD, BAD], [SOSO, BAD]])
def test_what_follows_is_what_follows_that_action(
    action: str, path: list[str], kept: set[str], texts: list[str]
) -> None:
    case, plain = forced(action, texts), Case("balanced", texts, web=FixedWeb(texts=WEB))
    assert (case.path, case.kept_sources) == (path, kept)
    assert case.trace.action == action and case.trace.answer is not None
    assert case.trace.decision is not None and case.trace.decision.instead_of is plain.trace.action
    assert case.trace.rounds[0].grades == plain.trace.rounds[0].grades, "grades are made and kept as ever"


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("strategy", ["balanced", "loop"])
def test_the_library_is_searched_as_often_as_the_scores_want(strategy: str, action: Action) -> None:
    for texts, joint in (([GOOD], 0.9), ([BAD], 0.1)):
        plain = Case(strategy, texts, joint=joint, web=FixedWeb(texts=WEB))
        case = forced(action, texts, strategy=strategy, joint=joint)
        assert case.retriever.asked == plain.retriever.asked
        *before, last = [each.decision for each in case.trace.rounds]
        assert all(each is not None and each.instead_of is None for each in before)
        assert last is not None and last.action is action


@pytest.mark.parametrize("action", list(Action))
def test_a_loop_that_finds_no_new_query_ends_in_the_forced_action(action: Action) -> None:
    """The scores' word comes first, and is replaced as soon as it turns out to be the last retrieval's."""
    case = forced(action, [BAD])
    mute = LlmRewriter(FakeChat(lambda messages: UnreachableError("No answer.")))
    trace = Trace.from_events(
        [
            case.events[0],
            *run_graph(QUESTION, replace(case.parts, rewriter=FallbackRewriter([mute], case.parts.emitter))),
        ]
    )
    assert len(trace.rounds) == 1 and trace.decision is not None
    assert (trace.decision.action, trace.decision.instead_of) == (action, Action.INCORRECT)
    used = {Action.CORRECT: INTERNAL, Action.AMBIGUOUS: INTERNAL | EXTERNAL, Action.INCORRECT: EXTERNAL}
    assert {strip.origin for group in trace.strips.values() for strip in group} == used[action]


def test_where_nothing_is_graded_nothing_can_be_forced() -> None:
    with pytest.raises(SettingsError, match="no action to force"):
        STRATEGIES["plain-rag"].settings.changed(forced="CORRECT")
    with pytest.raises(SettingsError, match="forced"):
        STRATEGIES["balanced"].settings.changed(forced="WRONG")


def test_without_one_the_decision_stays_as_it_is() -> None:
    decision = decide([], upper=0.4, lower=0.2, aggregation=Aggregation.ANY)
    assert acted_on(decision, Settings()) is decision
    assert decision_sentence(acted_on(decision, Settings(forced="CORRECT"))) == (
        "Forced: CORRECT. The scores say INCORRECT: nothing was retrieved."
    )
