"""The threshold sweep: what actions are worth, which pair is best, where an answer is found, how scores are kept."""

import json
from pathlib import Path

import pytest

from benchmarks.fakes import PATHS, engine_of, parts_of
from benchmarks.overhead import bare_run
from benchmarks.thresholds_cases import Case, unseen
from benchmarks.thresholds_grades import KeptScores
from benchmarks.thresholds_sweep import COLLAPSE, LIKELY, Sets, counted
from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Grade
from crag.pipeline.graph import NODES, run_graph
from crag.testing.fakes import ScriptedEvaluator


def case(*holds: bool) -> Case:
    return Case(question="?", graded=("text",) * len(holds), texts=("text",) * len(holds), holds=holds)


def grades(*scores: float) -> list[Grade]:
    return [Grade(passage_id=str(place), score=score) for place, score in enumerate(scores)]


CASES = [case(True, False), case(True, False), case(False, False), case(False, False)]
GRADES = [grades(0.9, 0.1), grades(0.5, 0.2), grades(0.5, 0.4), grades(0.1, 0.1)]
SETS = Sets([(CASES, GRADES)], Settings())


def test_a_right_action_is_worth_one_less_its_search() -> None:
    counts = counted(CASES, GRADES, (0.7, 0.3), Settings())
    assert counts.answerable == {Action.CORRECT: 1, Action.AMBIGUOUS: 1, Action.INCORRECT: 0}
    assert counts.unanswerable == {Action.CORRECT: 0, Action.AMBIGUOUS: 1, Action.INCORRECT: 1}
    assert counts.ambiguous == 0.5
    assert SETS.worth((0.7, 0.3), 0.5) == pytest.approx((1 + 2 * (0.5 - 0.15) + 0.9) / 4)
    assert SETS.most_ambiguous((0.7, 0.3)) == 0.5


def test_pairs_fit_for_defaults_trust_no_unlikely_score_and_leave_few_open() -> None:
    found = SETS.best_sound(0.9)
    assert found and found[0] >= LIKELY and SETS.most_ambiguous(found) < COLLAPSE
    assert SETS.worth(found, 0.9) <= SETS.worth(SETS.best(0.9), 0.9)
    torn = ([case(True), case(False)] * 3, [[Grade(passage_id="0", score=None, error="failed")]] * 6)
    assert Sets([torn], Settings()).best_sound(0.9) is None


def test_a_kept_score_is_never_asked_for_again_and_another_version_is(tmp_path: Path) -> None:
    evaluator = ScriptedEvaluator(score=lambda text: len(text) / 10)
    first = KeptScores(evaluator, "one", tmp_path)
    assert [grade.score for grade in first.grades("Who?", ["abc", "a", "abc"])] == [0.3, 0.1, 0.3]
    first.save()
    assert len(evaluator.graded) == 2
    assert [grade.score for grade in KeptScores(evaluator, "one", tmp_path).grades("Who?", ["a"])] == [0.1]
    assert len(evaluator.graded) == 2
    KeptScores(evaluator, "two", tmp_path).grades("Who?", ["a"])
    KeptScores(evaluator, "one", tmp_path).grades("Where?", ["a"])
    assert len(evaluator.graded) == 4


def test_questions_that_training_data_asks_are_left_out(tmp_path: Path) -> None:
    for name, asked in {"nq/train": ["who wrote it"], "retrieved/nq": ["Who wrote it?", "Who read it?"]}.items():
        file = tmp_path / f"{name}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(json.dumps({"question": each}) + "\n" for each in asked), encoding="utf-8")
    assert [row["question"] for row in unseen(tmp_path, "nq")] == ["Who read it?"]


# The overhead benchmark compares like with like: every way takes the same steps


QUESTION = "How many days did it take in 2019?"


@pytest.mark.parametrize("name", PATHS)
def test_all_ways_take_the_same_steps(name: str, tmp_path: Path) -> None:
    course = PATHS[name]
    nodes = list(bare_run(QUESTION, course))
    assert tuple(nodes) == course.nodes
    engine = engine_of(course, tmp_path)
    trace = Trace.from_events(engine.ask(QUESTION))
    engine.close()
    assert [record.step for record in trace.steps] == [NODES[node][0] for node in nodes]
    alone = [event.step for event in run_graph(QUESTION, parts_of(course)) if isinstance(event, ev.StepStarted)]
    assert alone == [record.step for record in trace.steps]
    assert trace.action == name.partition(",")[0]
    assert len(trace.rounds[0].grades) == 10 and not trace.failures
    assert trace.answer is not None and not trace.answer.abstained
