"""A run while Milvus is down: it says so, searches the records instead, and answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pymilvus", reason="pip install -r requirements/milvus.txt")

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.trace import Trace
from crag.engine import Engine
from crag.storage import index_sync
from tests.support.milvus_server import MilvusServer
from tests.support.small_library import TEXTS, engine_with_texts

QUESTION = "How long did hiring take in 2019?"


@pytest.fixture
def milvus(tmp_path: Path) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path / "milvus") as started:
        yield started


@pytest.fixture
def engine(tmp_path: Path, milvus: MilvusServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(index_sync, "_REST", 0.0)
    config = AppConfig.of(data=tmp_path / "data", index="milvus", milvus_uri=milvus.uri)
    with engine_with_texts(config, lambda text: 0.9) as made:
        yield made


def asked(engine: Engine) -> tuple[Trace, list[ev.Failed]]:
    """The finished run, which is stored, and what failed in it."""
    events = list(engine.ask(QUESTION))
    trace = Trace.from_events(events)
    assert trace.failure is None and trace.answer is not None and not trace.answer.abstained
    assert trace.answer.citations and trace.answer.citations[0].page
    assert engine.library().runs.trace(trace.run_id) == trace
    return trace, [event for event in events if isinstance(event, ev.Failed)]


@pytest.mark.slow
def test_a_run_answers_from_the_records_while_milvus_is_down_and_says_so(engine: Engine, milvus: MilvusServer) -> None:
    assert asked(engine)[1] == []
    milvus.kill()
    trace, (failed,) = asked(engine)
    assert (failed.step, failed.instead, failed.fatal) == ("retrieve", "records", False)
    assert failed.cause == "Milvus can't be reached." and "CRAG_MILVUS_URI" in failed.remedy
    assert milvus.uri not in f"{failed}"
    assert {found.chunk.text for each in trace.rounds for found in each.chunks} <= {*TEXTS}
    milvus.start()
    assert asked(engine)[1] == [], "once it is back, it is used again"


@pytest.mark.slow
def test_a_run_while_milvus_is_filled_again_says_how_far_that_is(
    engine: Engine, milvus: MilvusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(engine)[1] == []
    milvus.kill()
    milvus.folder = tmp_path / "fresh"
    milvus.start()
    with monkeypatch.context() as patched:
        patched.setattr(index_sync, "_PATIENCE", 0.0)
        _, (failed,) = asked(engine)
    assert (failed.step, failed.instead) == ("retrieve", "records")
    assert "is being made" in failed.cause and failed.remedy
    engine.library().refresh_index()
    assert asked(engine)[1] == []
    assert not engine.library().verify()
