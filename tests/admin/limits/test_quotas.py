"""The engine before its limits, on a file and on a database server: refused in words, counted across engines."""

import math
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.admin.quotas import ChangedError, check_value
from crag.admin.store import open_store
from crag.admin.usage_store import (
    QUANTITIES,
    Bound,
    DailyBudget,
    DailyLimits,
    Refused,
    Reserved,
    UsageStore,
    Want,
    amount_left,
    decide,
    over_at,
    period_of,
    refusal,
)
from crag.core.config import Keys
from crag.core.errors import (
    DayLimitError,
    InputError,
    NotFoundError,
    QuotaError,
    RoomError,
    SettingsError,
    StorageError,
)
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.providers.prices import Price
from tests.admin.limits.conftest import StillClock
from tests.support.model_server import KEY, serving
from tests.support.spending import call, spend

QUESTION = "How long did hiring take in 2019?"
Make = Callable[..., Engine]


def test_questions_a_minute_are_refused_with_when_and_nothing_is_stored_of_them(
    engine_with: Make, url: str, clock: StillClock
) -> None:
    engine = engine_with(url, library_questions_minute=3, all_questions_minute=4)
    for _ in range(3):
        assert engine.answer(QUESTION)
    stored = len(engine.library().runs.ids())
    with pytest.raises(QuotaError, match="may be asked 3 questions a minute") as refused:
        engine.answer(QUESTION)
    assert refused.value.retry_after == 45 and len(engine.library().runs.ids()) == stored == 3
    engine.teams.quotas.ask("another")
    with pytest.raises(QuotaError, match="All workspaces here together may be asked 4 questions"):
        engine.teams.quotas.ask("a third")
    [questions] = [each for each in engine.teams.quotas.standing("default") if each.quantity.name == "questions"]
    assert (questions.own.used, questions.all.used) == (3, 4) and questions.near
    clock.now += timedelta(seconds=45)
    assert engine.answer(QUESTION)


def test_an_upload_stops_at_the_limit_with_what_was_stored_kept(engine_with: Make, url: str, clock: StillClock) -> None:
    engine = engine_with(url, library_files_hour=2, library_documents=4)
    files = [(f"{n}.txt", lambda n=n: f"The moon number {n} circles its planet slowly.".encode()) for n in range(4)]
    ended = [e for e in engine.add_files(files) if isinstance(e, DocumentAdded | DocumentFailed)]
    assert [type(each) for each in ended] == [DocumentAdded, DocumentAdded, DocumentFailed, DocumentFailed]
    for each in ended[2:]:
        assert isinstance(each, DocumentFailed) and each.reason == "limit" and each.retry_after == 29 * 60 + 45
        assert each.message == "2 files an hour may be added to this workspace, and no more are left."
    [again] = [e for e in engine.add_files(files[:1]) if isinstance(e, DuplicateFound | DocumentFailed)]
    assert isinstance(again, DuplicateFound), "what is there already counts for nothing"
    clock.now += timedelta(minutes=30)
    ended = [e for e in engine.add_files(files[2:]) if isinstance(e, DocumentAdded | DocumentFailed)]
    assert [type(each) for each in ended] == [DocumentAdded, DocumentFailed], "the documents are four by then"
    assert isinstance(ended[1], DocumentFailed) and ended[1].retry_after == 0
    assert ended[1].message == "This workspace may hold 4 documents, and has 4."
    engine.library().documents.delete(ended[0].document.id)  # type: ignore[union-attr]
    clock.now += timedelta(hours=1)
    assert any(isinstance(e, DocumentAdded) for e in engine.add_files(files[3:])), "room that was made is seen"


def test_a_day_s_calls_that_are_used_up_leave_the_parts_of_this_machine(engine_with: Make, clock: StillClock) -> None:
    with serving() as server:
        engine = engine_with(
            llm="openai-compatible", llm_base_url=server.address, llm_model="ok", library_calls_day=2, writer="llm"
        )
        keys = Keys(llm=SecretStr(KEY))
        traces = [engine.trace(RunRequest(QUESTION, keys=keys)) for _ in range(4)]
        assert [len(each.calls) for each in traces] == [1, 1, 0, 0] and len(server.seen) == 2, "never one more"
        [said] = traces[2].failures
        assert said.cause == "This workspace's limit of 2 outside calls a day is reached." and not said.fatal
        assert said.step == "answer" and traces[2].answer and traces[2].answer.instead_of
        clock.now += timedelta(hours=6)
        assert engine.trace(RunRequest(QUESTION, keys=keys)).calls, "it is tomorrow"


def test_prices_that_cannot_be_read_stop_no_question(engine_with: Make) -> None:
    engine = engine_with(library_dollars_day=100, prices=("gpt-4o=oops",))
    assert engine.trace(QUESTION).answer


@pytest.mark.slow
def test_two_processes_share_a_day_s_calls_to_the_last_one(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        made = pool.starmap(spend, [(tmp_path, 90, 101)] * 2)
    assert 95 <= sum(made) <= 101 and all(made)
    assert sum(UsageStore(open_store(tmp_path)).used("one").popitem()[1].values()) == sum(made)


def test_dollars_are_overrun_by_the_calls_under_way_at_most(tmp_path: Path) -> None:
    ledger = UsageStore(open_store(tmp_path))
    spendable = DailyLimits(dollars=(1.0, 0), prices={"dear": Price(input=0, output=0, call=0.03)})

    def run(_: int) -> int:
        made, budget = 0, DailyBudget(ledger, "one", spendable)
        try:
            for _ in range(5):
                budget.take()
                made += 1
                budget.paid(call())
        except DayLimitError:
            pass
        finally:
            budget.release()
        return made

    with ThreadPoolExecutor(4) as pool:
        made = sum(pool.map(run, range(20)))
    assert 0.9 < made * 0.03 < 1.0 + 4 * 0.03, "one call of each run under way"
    assert ledger.used("one").popitem()[1]["dollars"] == pytest.approx(made * 0.03)


def test_a_clock_that_is_set_back_gives_no_day_back(tmp_path: Path, clock: StillClock) -> None:
    ledger, want = UsageStore(open_store(tmp_path), clock), {"calls": Want(least=1, most=1, own=1)}
    assert isinstance(ledger.reserve("one", "day", want), Reserved)
    for days in (-1, -3, -20):
        clock.now += timedelta(days=days)
        refused = ledger.reserve("one", "day", want)
        assert isinstance(refused, Refused) and refused.within == "2026-11-23"
    clock.now += timedelta(days=24 + 400)  # it stood a year ahead for a moment, and was set right
    assert isinstance(ledger.reserve("one", "day", want), Reserved)
    clock.now -= timedelta(days=399)
    assert isinstance(ledger.reserve("one", "day", want), Reserved), "that is not held to"
    clock.now -= timedelta(days=3)
    assert isinstance(ledger.reserve("one", "day", want), Refused)
    ledger.begin_day()
    assert isinstance(ledger.reserve("one", "day", want), Reserved)


def test_without_a_store_that_can_be_written_a_process_counts_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    ledger, want = UsageStore(store), {"calls": Want(least=1, most=1, own=2)}

    def broken() -> object:
        raise StorageError("The disk is full.")

    monkeypatch.setattr(store, "write", broken)
    kinds = [type(ledger.reserve("one", "day", want)) for _ in range(3)]
    assert kinds == [Reserved, Reserved, Refused]


def test_two_admins_who_change_one_limit_do_not_overwrite_each_other(engine_with: Make, url: str) -> None:
    quotas = engine_with(url).teams.quotas
    with pytest.raises(NotFoundError, match="no workspace 'nowhere'"):
        quotas.change("nowhere", "library_documents", 5, seen=0, by="ada")
    assert quotas.change("", "library_documents", 5, seen=0, by="ada").edition == 1
    with pytest.raises(ChangedError, match="ada changed this limit meanwhile; it is 5"):
        quotas.change("", "library_documents", 9, seen=0, by="bob")
    assert quotas.most("library_documents", "default") == 5
    assert quotas.change("default", "library_documents", 7, seen=0, by="bob").edition == 1
    assert quotas.most("library_documents", "default") == 7 and quotas.most("library_documents", "other") == 5
    quotas.change("", "library_documents", None, seen=1, by="ada")
    with pytest.raises(ChangedError, match="as it is configured"):
        quotas.change("", "library_documents", 1, seen=1, by="bob")
    assert quotas.most("library_documents", "other") == 50_000


# What may be taken under two limits, and when it is free again: values alone


NOW = datetime(2026, 11, 23, 18, 30, 15, tzinfo=UTC)


def bounds(own: tuple[float, float], all: tuple[float, float]) -> tuple[Bound, Bound]:
    return Bound(level="workspace", most=own[0], used=own[1]), Bound(level="server", most=all[0], used=all[1])


@pytest.mark.parametrize(
    ("own", "all", "wanted", "refused"),
    [
        ((0, 1e9), (0, 1e9), 1, None),
        ((3, 2), (0, 0), 1, None),
        ((3, 3), (0, 0), 1, "workspace"),
        ((3, 2), (0, 0), 2, "workspace"),
        ((3, 0), (5, 5), 1, "server"),
        ((3, 3), (5, 5), 1, "workspace"),
        ((3, 7), (0, 0), 1, "workspace"),
        ((0.5, 0.49), (0, 0), 0.01, None),
    ],
)
def test_the_first_limit_that_is_reached_refuses(own, all, wanted, refused) -> None:
    found = decide(bounds(own, all), wanted)
    assert (found.level if found else None) == refused
    assert (amount_left(bounds(own, all)) < wanted) == (refused is not None)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, -math.inf, 1e30, 2.5])
def test_a_value_that_is_no_limit_is_refused(value: float) -> None:
    with pytest.raises(SettingsError, match="library_calls_day"):
        check_value("lib", "library_calls_day", value)
    if value != 2.5:
        with pytest.raises(SettingsError, match="library_dollars_day"):
            check_value("lib", "library_dollars_day", value)


@pytest.mark.parametrize(("workspace", "name"), [("", "data"), ("lib", "all_documents"), ("lib", "runs_at_once; --")])
def test_only_limits_can_be_changed(workspace: str, name: str) -> None:
    with pytest.raises(InputError, match="no limit"):
        check_value(workspace, name, 1)


def test_minutes_hours_and_days_are_over_when_they_are() -> None:
    for period, named, over in [
        ("minute", "2026-11-23T18:30", "2026-11-23T18:31:00+00:00"),
        ("hour", "2026-11-23T18", "2026-11-23T19:00:00+00:00"),
        ("day", "2026-11-23", "2026-11-24T00:00:00+00:00"),
    ]:
        assert period_of(period, NOW) == named
        assert over_at(period, named).isoformat() == over
    assert period_of("day", NOW, date(2026, 11, 25)) == "2026-11-25", "a clock that was set back begins no new day"


def test_what_is_said_names_the_limit_and_when_it_is_free_again() -> None:
    own = Bound(level="workspace", most=20, used=20)
    asked = refusal(QUANTITIES["questions"], own, "2026-11-23T18:30", NOW)
    assert isinstance(asked, QuotaError) and asked.retry_after == 45
    assert asked.message == "This workspace may be asked 20 questions a minute, and was asked as many."
    assert asked.remedy.startswith("Ask again in 45 s;") and "Settings, Limits" in asked.remedy
    server = Bound(level="server", most=1, used=1)
    said = refusal(QUANTITIES["files"], server, "2026-11-23T18", NOW)
    assert said.message == "1 file an hour may be added to all workspaces here together, and no more are left."
    assert "in 30 minutes" in said.remedy
    large = refusal(QUANTITIES["mb"], own, "", NOW, 30)
    assert isinstance(large, RoomError)
    assert large.message == "This workspace may hold 20 MB, and has 20; 30 MB more do not fit."
    day = refusal(QUANTITIES["dollars"], Bound(level="workspace", most=2.5, used=2.5), "2026-11-23", NOW)
    assert day.message == "This workspace's limit of $2.50 a day is reached." and "in 6 hours" in day.remedy
    full = refusal(QUANTITIES["documents"], Bound(level="server", most=10, used=10), "", NOW)
    assert full.message == "All workspaces here together may hold 10 documents, and have 10."
