"""kill -9 in the middle of an evaluation, then two processes at once: every question has one result and one run."""

import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from crag.analysis.evaluate import Evaluation, evaluations, rows
from crag.engine import Engine
from tests.support import shell
from tests.support.evaluation_makers import filled_engine, stored_set
from tests.support.sizes import sized

pytestmark = pytest.mark.slow

QUESTIONS = sized(500, 60)


def started(folder: Path, set_id: str) -> subprocess.Popen[str]:
    return shell.started("-m", "tests.support.evaluating_child", folder, set_id)


def told(child: subprocess.Popen[str], most: int = QUESTIONS) -> list[str]:
    """The next so many results that a process told of; fewer where it ends."""
    lines = (shell.line_of(child) for _ in range(most))
    return [line.strip() for line in lines if line.endswith("\n")]


def ended(child: subprocess.Popen[str], code: int) -> None:
    with child:
        assert child.wait(timeout=60) == code


def whole(engine: Engine, total: int) -> Evaluation:
    """The one evaluation there is: finished, one result and one run of each question, in order."""
    (done,) = evaluations(engine.library())
    assert done.finished_at and done.done == done.questions == total
    found = rows(engine.library(), done.id)
    assert [row.question_id for row in found] == [f"q{number}" for number in range(1, total + 1)]
    assert not any(row.problem for row in found)
    assert sorted(engine.library().runs.ids()) == sorted(f"{done.id}-{place}" for place in range(1, total + 1))
    assert {row.run_id for row in found} == set(engine.library().runs.ids())
    return done


def test_an_evaluation_killed_half_way_is_ended_by_two_processes_and_no_question_counts_twice(tmp_path: Path) -> None:
    engine = filled_engine(tmp_path)
    set_id = stored_set(engine, QUESTIONS)
    child = started(tmp_path, set_id)
    before = told(child, QUESTIONS // 2)
    child.send_signal(signal.SIGKILL)
    before += told(child)
    ended(child, -signal.SIGKILL)
    (broken,) = evaluations(engine.library())
    assert QUESTIONS // 2 <= len(before) <= broken.done < QUESTIONS and not broken.finished_at
    runs = engine.library().runs.ids()
    assert len(runs) - broken.done in (0, 1), "at most the run that the kill left without its result"
    first = list(engine.library().runs.traces(runs))

    children = [started(tmp_path, set_id) for _ in range(2)]
    after = [question for child in children for question in told(child)]
    for child in children:
        ended(child, 0)
    assert whole(engine, QUESTIONS).id == broken.id
    assert max(Counter(before + after).values()) == 1, "each result is told of by the process that stored it, once"
    assert len(after) == QUESTIONS - broken.done
    assert list(engine.library().runs.traces(runs)) == first, "what was asked before is as it was"
    engine.close()
