"""Where nothing can be stored, questions are answered all the same, and each run says that it is not in the history."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import LibraryError
from crag.core.request import RunRequest
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How long did hiring take in 2019?"


def over(engine: Engine, **limits: int) -> None:
    """Lowers limits below what is stored."""
    engine.reconfigure(engine.config.changed(**limits))


@pytest.mark.parametrize("limit", ["library_mb", "all_mb"])
@pytest.mark.parametrize("workspace", ["default", "other"])
def test_over_a_quota_a_question_is_answered_and_said_to_be_unsaved(tmp_path: Path, limit: str, workspace: str) -> None:
    evaluator = ScriptedEvaluator(score=lambda text: 0.9)
    engine = Engine(AppConfig.of(data=tmp_path / "data"), embedder=WordEmbedder(), evaluator=evaluator)
    for each in ("default", "other"):
        fill(engine, workspace=each)
        engine.library(each).evaluations.save_set("s", "set", "CSV", 1, 0, "x" * 1_200_000)
    over(engine, **{limit: 1})
    events = list(engine.ask(RunRequest(QUESTION, workspace=workspace)))
    assert events[-1].kind == "run_finished"
    assert [event.answer.abstained for event in events if isinstance(event, ev.Answered)] == [False]
    failed = [event for event in events if isinstance(event, ev.Failed)]
    assert [(event.instead, event.reason, event.fatal) for event in failed] == [("not stored", "limit", False)]
    assert "may hold 1 MB" in failed[0].cause
    assert not engine.library(workspace).runs.latest()
    with pytest.raises(LibraryError, match="may hold 1 MB"):
        engine.library(workspace).evaluations.save_set("more", "set", "CSV", 1, 0, "more")
    over(engine, **{limit: 0})
    list(engine.ask(RunRequest(QUESTION, workspace=workspace)))
    assert len(engine.library(workspace).runs.latest()) == 1, "it is stored as soon as there is room"
    engine.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manner", "said"), [("folder", "can't be written"), ("file", "can't be written"), ("full", "no room left")]
)
def test_in_a_place_that_can_not_be_written_a_question_is_answered_and_said_to_be_unsaved(
    tmp_path: Path, manner: str, said: str
) -> None:
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no namespace of mounts")
    child = ["unshare", "-rm", sys.executable, "-m", "tests.support.unwritable_child", str(tmp_path / "data"), manner]
    ran = subprocess.run(
        child, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    for run in found["runs"]:
        assert run["answered"] and run["last"] == "run_finished"
        assert run["instead"][-1] == "not stored" and said in run["messages"][-1]
        assert set(run["instead"]) <= {"not stored", "records"}
    assert found["history"] == ["What did the survey say?"], "looking goes on"
