"""Strips that a language model chose, on the graph: what is kept, what is said, and what-if over them."""

import pytest

from crag.analysis.whatif.whatif import redecide
from crag.core.errors import UnreachableError
from crag.core.trace import Trace
from crag.testing.fakes import FakeChat
from tests.support.judged import run
from tests.support.paths import GOOD, SOSO, Case


def kept(trace: Trace) -> dict[str, list[str]]:
    return {source: [strip.id for strip in strips if strip.kept] for source, strips in trace.strips.items()}


@pytest.mark.parametrize("texts", [[GOOD, SOSO], [SOSO, SOSO + " More."]], ids=["documents", "documents and web"])
def test_the_chosen_strips_of_documents_and_pages_are_kept(texts: list[str]) -> None:
    trace = run("llm", texts)
    assert all(strips[-1].kept and not any(strip.kept for strip in strips[:-1]) for strips in trace.strips.values())
    assert all(strip.score is not None for strips in trace.strips.values() for strip in strips)
    assert not trace.failures and Trace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize("chat", [None, FakeChat(lambda messages: UnreachableError("Gone."))], ids=["none", "failing"])
def test_without_a_model_scores_decide_and_it_is_said_once(chat: FakeChat | None) -> None:
    trace, scored = run("llm", [GOOD], chat), run("scores", [GOOD])
    assert kept(trace) == kept(scored)
    assert [failure.step for failure in trace.failures] == ["refine"]
    assert trace.failures[0].instead in ("scores", "scores alone")


def test_what_if_tells_the_same_run_and_the_one_by_scores() -> None:
    trace, scored = run("llm", [SOSO]), run("scores", [SOSO])
    settings = Case("balanced", [SOSO]).settings
    same = redecide(trace, settings.changed(strip_judge="llm"))
    assert {source: [s.id for s in strips if s.kept] for source, strips in same.strips.items()} == kept(trace)
    other = redecide(trace, settings)
    assert {source: [s.id for s in strips if s.kept] for source, strips in other.strips.items()} == kept(scored)
    assert not same.unknown and not other.unknown
