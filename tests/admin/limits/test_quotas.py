"""The engine before its limits, on a file and on a database server: refused in words, counted across engines."""

import multiprocessing
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.admin.quotas import Quotas
from crag.admin.spending import Spending
from crag.admin.store import open_store
from crag.core.config import AppConfig, Keys
from crag.core.errors import DayLimitError, QuotaError, StorageError
from crag.core.ingesting import DocumentAdded, DocumentFailed
from crag.core.protocols import RunRequest
from crag.core.types import Call
from crag.engine import Engine
from crag.storage.places import DataFolder, StorageUse
from tests.admin.limits.conftest import StillClock
from tests.support.model_server import KEY, serving

QUESTION = "How long did hiring take in 2019?"
CALL = Call(step="answer", provider="p", model="dear", seconds=0.1)
Make = Callable[..., Engine]


def test_questions_a_minute_are_refused_with_when_and_nothing_is_stored_of_them(engine_with: Make) -> None:
    engine = engine_with(all_questions_minute=2)
    for _ in range(2):
        assert engine.answer(QUESTION)
    for workspace in ("default", "other"):
        with pytest.raises(QuotaError, match="Only 2 questions a minute may be asked here") as refused:
            engine.answer(RunRequest(QUESTION, workspace=workspace))
        assert 0 < refused.value.retry_after <= 30 and "CRAG_ALL_QUESTIONS_MINUTE" in refused.value.remedy
    assert len(engine.library().runs.ids()) == 2 and not engine.library("other").exists
    engine.reconfigure(engine.config.changed(all_questions_minute=0))
    assert engine.answer(QUESTION)


def test_an_upload_without_room_is_refused_and_nothing_of_it_is_stored(engine_with: Make, url: str) -> None:
    engine = engine_with(url)
    engine.library().evaluations.save_set("s", "set", "CSV", 1, 0, random.Random(1).randbytes(2_000_000).hex())
    engine.reconfigure(engine.config.changed(all_mb=1))
    for workspace in ("default", "other"):
        [*_, refused] = engine.add("moon.txt", b"The moon circles the earth.", workspace)
        assert isinstance(refused, DocumentFailed) and refused.reason == "limit"
        assert refused.message.startswith("All workspaces together may hold 1 MB, and have ")
        assert "Delete documents" in refused.remedy and "CRAG_ALL_MB" in refused.remedy
    assert engine.library().documents.count() == 1 and not engine.library("other").exists
    engine.reconfigure(engine.config.changed(all_mb=0))
    events = list(engine.add("moon.txt", b"The moon circles the earth.", "other"))
    assert any(isinstance(event, DocumentAdded) for event in events)


def test_a_day_s_dollars_end_outside_calls_and_no_restart_or_deletion_gives_them_back(
    engine_with: Make, clock: StillClock
) -> None:
    with serving() as server:
        model = {"llm": "openai-compatible", "llm_base_url": server.address, "llm_model": "ok", "writer": "llm"}
        model |= {"prices": ("ok=0/0/0.5",), "all_dollars_day": 1.0}
        asked = RunRequest(QUESTION, keys=Keys(llm=SecretStr(KEY)))
        engine = engine_with(**model)
        assert [len(engine.trace(asked).calls) for _ in range(3)] == [1, 1, 0] and len(server.seen) == 2
        for run in engine.library().runs.ids():
            engine.library().runs.delete(run)
        engine.close()
        engine = engine_with(**model)
        trace = engine.trace(asked)
        [said] = trace.failures
        assert said.cause == "Outside calls may cost $1.00 a day here, and did." and not said.fatal
        assert said.step == "answer" and trace.answer and trace.answer.instead_of and len(server.seen) == 2
        clock.now += timedelta(hours=6)
        assert engine.trace(asked).calls, "it is tomorrow"


def test_prices_that_cannot_be_read_stop_no_question(engine_with: Make) -> None:
    engine = engine_with(all_dollars_day=100, prices=("gpt-4o=oops",))
    assert engine.trace(QUESTION).answer


def spend(data: Path, calls: int) -> int:
    """How many calls of 3 cents a process was let make under a limit of a dollar, two at a time."""
    config = AppConfig.of(data=data, all_dollars_day=1.0, prices=("dear=0/0/0.03",))
    with closing(open_store(data)) as store:
        quotas = Quotas(store, lambda: config, StorageUse(DataFolder(data)))

        def make(_: int) -> int:
            try:
                quotas.take()
            except DayLimitError:
                return 0
            quotas.paid(CALL)
            return 1

        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(make, range(calls)))


@pytest.mark.slow
def test_two_processes_spend_more_than_a_day_s_dollars_by_the_calls_under_way_at_most(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        made = pool.starmap(spend, [(tmp_path, 60)] * 2)
    assert 34 <= sum(made) < 34 + 2 * 2, "the 34th call goes over a dollar; each thread had one under way"
    assert Spending(open_store(tmp_path)).today() == pytest.approx(sum(made) * 0.03)


def test_without_a_store_that_can_be_written_a_process_counts_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    spending = Spending(store)

    def broken(*_: object) -> object:
        raise StorageError("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(store, "write", broken)
        spending.add(1.0)
        assert spending.known() == 1.0
        patched.setattr(store, "read", broken)
        assert spending.known() == 1.0
    spending.add(0.5)
    assert spending.today() == Spending(open_store(tmp_path)).today() == 1.5
