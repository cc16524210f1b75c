"""What is acted on after a corrective loop: the last retrieval, the better one, or the best chunks of both."""

import pytest

from crag.core.policy import chunks_acted_on
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action, Aggregation, Grade
from tests.support.paths import BAD, SOSO, Case

WEAK = "France is mentioned here, in a list of many countries that goes on for long."
FIRST = [SOSO, BAD]
AGAIN = [BAD + " Again.", WEAK]
LOOPING = {"upper": 0.5, "lower": 0.4, "internal_on": tuple(Action), "refine_on": tuple(Action), "strip_filter": 0.0}


def looped(loop_merge: str, **changes: object) -> Case:
    """A run whose first retrieval is INCORRECT, so that the library is searched again."""
    return Case("balanced", FIRST, again=AGAIN, changes={**LOOPING, "loop_merge": loop_merge, **changes})


def acted(case: Case) -> list[tuple[str, int]]:
    here = case.trace.round
    assert here is not None
    return [(found.chunk.text, found.round) for found in here.chunks]


@pytest.mark.parametrize(
    ("loop_merge", "texts"),
    [
        ("last", [(AGAIN[0], 1), (WEAK, 1)]),
        ("better", [(SOSO, 0), (BAD, 0)]),
        ("union", [(SOSO, 0), (BAD, 0), (AGAIN[0], 1), (WEAK, 1)]),
    ],
)
def test_the_evidence_comes_from_the_retrievals_that_are_acted_on(
    loop_merge: str, texts: list[tuple[str, int]]
) -> None:
    def worse(text: str) -> float:
        return 0.35 if text.startswith("France has") else 0.1

    case = Case("balanced", FIRST, again=AGAIN, changes={**LOOPING, "loop_merge": loop_merge}, score=worse)
    assert [len(each.chunks) for each in case.trace.rounds] == [2, 2]
    assert acted(case) == texts
    assert {strip.source_id for strip in case.trace.kept()} == {
        found.chunk.id for found in (case.trace.round or case.trace.rounds[0]).chunks
    }
    assert case.trace.decision is not None
    assert case.trace.decision.score == (0.1 if loop_merge == "last" else 0.35)


def test_the_union_has_as_many_chunks_as_one_retrieval_brings_the_best_ones() -> None:
    case = looped("union", k=2)
    assert acted(case) == [(SOSO, 0), (WEAK, 1)]
    assert set((case.trace.round or case.trace.rounds[0]).grades) == set(case.trace.strips)


def test_a_failed_grade_is_not_left_out_for_a_known_one() -> None:
    graded = [[("a", grade(0.3)), ("b", grade(0.2))], [("c", grade(None))]]
    assert chunks_acted_on(graded, [None, None], Settings(loop_merge="union", k=2)) == [(0, 0), (1, 0)]


def test_the_earlier_retrieval_is_the_better_one_on_a_tie() -> None:
    graded = [[("a", grade(0.3))], [("b", grade(0.3))]]
    assert chunks_acted_on(graded, [None, None], Settings(loop_merge="better")) == [(0, 0)]
    assert chunks_acted_on([], [], Settings(loop_merge="union")) == []


@pytest.mark.parametrize("loop_merge", ["better", "union"])
def test_of_joint_grades_the_higher_one_says_which_retrieval_is_better(loop_merge: str) -> None:
    settings = Settings(loop_merge=loop_merge, evaluator="joint", aggregation=Aggregation.JOINT)
    graded: list[list[tuple[str, Grade | None]]] = [[("a", None)], [("b", None), ("c", None)]]
    assert chunks_acted_on(graded, [grade(0.2), grade(0.6)], settings) == [(1, 0), (1, 1)]
    assert chunks_acted_on(graded, [grade(0.6), grade(0.2)], settings) == [(0, 0)]


def test_only_this_project_s_own_design_joins_retrievals() -> None:
    joined = [name for name, each in STRATEGIES.items() if each.settings.loop_merge != "last"]
    assert joined == ["balanced"]


def grade(score: float | None) -> Grade:
    return Grade(passage_id="p", score=score, error=None if score is not None else "It failed.")
