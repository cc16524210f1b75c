"""Where nothing can be stored, questions are answered all the same, and each run says that it is not in the history."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import LibraryError, StorageError
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.engine import Engine
from crag.storage.cache import Cache
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder
from tests.support.shell import told_apart
from tests.support.small_library import WordEmbedder, fill

QUESTION = "How long did hiring take in 2019?"


def over(engine: Engine, **limits: int) -> None:
    """Lowers limits below what is stored."""
    engine.reconfigure(engine.config.changed(**limits))


@pytest.mark.parametrize("workspace", ["default", "other"])
def test_over_a_quota_a_question_is_answered_and_said_to_be_unsaved(tmp_path: Path, workspace: str) -> None:
    evaluator = ScriptedEvaluator(score=lambda text: 0.9)
    engine = Engine(AppConfig.of(data=tmp_path / "data"), embedder=WordEmbedder(), evaluator=evaluator)
    for each in ("default", "other"):
        fill(engine, workspace=each)
        engine.library(each).evaluations.save_set("s", "set", "CSV", 1, 0, "x" * 1_200_000)
    over(engine, all_mb=1)
    events = list(engine.ask(RunRequest(QUESTION, workspace=workspace)))
    assert events[-1].kind == "run_finished"
    assert [event.answer.abstained for event in events if isinstance(event, ev.Answered)] == [False]
    failed = [event for event in events if isinstance(event, ev.Failed)]
    assert [(event.instead, event.reason, event.fatal) for event in failed] == [("not stored", "limit", False)]
    assert "may hold 1 MB" in failed[0].cause
    assert not engine.library(workspace).runs.latest()
    with pytest.raises(LibraryError, match="may hold 1 MB"):
        engine.library(workspace).evaluations.save_set("more", "set", "CSV", 1, 0, "more")
    over(engine, all_mb=0)
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
    found = told_apart("unwritable_child", tmp_path / "data", manner)
    for run in found["runs"]:
        assert run["answered"] and run["last"] == "run_finished"
        assert run["instead"][-1] == "not stored" and said in run["messages"][-1]
        assert set(run["instead"]) <= {"not stored", "records"}
    assert found["history"] == ["What did the survey say?"], "looking goes on"


# Asking goes on where nothing more can be stored: the answer comes, and the run says that it is not in the history


TEXT = b"The bridge was opened in 1890 by the mayor. It is four hundred metres long.\n"


def engine_on(data: Path, **limits: int) -> Engine:
    config = AppConfig.of(data=data, **limits)  # type: ignore[arg-type]
    return Engine(config, embedder=HashEmbedder(), evaluator=ScriptedEvaluator(score=lambda text: 0.9))


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Two workspaces with a document each, of some two megabytes; the first one has three more."""
    with closing(engine_on(tmp_path)) as engine:
        for workspace in ("default", "other"):
            list(engine.add("bridge.txt", TEXT, workspace))
    (tmp_path / "workspaces" / "default" / "large").write_bytes(bytes(3_000_000))
    yield tmp_path


def asked(engine: Engine, workspace: str) -> Trace:
    return Trace.from_events(engine.ask(RunRequest("How long is the bridge?", workspace=workspace)))


def test_a_run_that_began_before_the_limit_was_reached_leaves_no_note(data: Path) -> None:
    with closing(engine_on(data)) as engine:
        events = engine.ask("How long is the bridge?")
        next(events)
        over(engine, all_mb=1)
        trace = Trace.from_events(events)
        assert trace.answer is not None
        assert not engine.library().in_flight.known(trace.run_id)


def test_a_cache_that_fails_ends_no_run(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("There is no room left.")

    for name in ("load_grades", "save_grades", "load_search", "save_search"):
        monkeypatch.setattr(Cache, name, refuse)
    with closing(engine_on(data)) as engine:
        trace = asked(engine, "default")
    assert trace.answer is not None and trace.failures == ()
