"""Idle private workspaces: warned of, kept when they are used, removed whole; a clock that jumps removes nothing."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from crag.admin.idle import Idle, Life, judge_idle
from crag.core.errors import StorageError
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.storage.places import name_of
from tests.admin.limits.conftest import StillClock
from tests.support.small_library import fill

DAY, NEVER = 24 * 3600.0, threading.Event()
Make = Callable[..., Engine]


class Hours:
    """The program's life: its two clocks go on together, or one of them jumps."""

    def __init__(self, engine: Engine, clock: StillClock) -> None:
        self.engine, self.clock, self.lived = engine, clock, 0.0
        engine.teams.idle = Idle(
            engine.teams.store, lambda: engine.config, engine.teams.audit, engine.remove, clock, lambda: self.lived
        )
        engine.teams.quotas.touched = engine.teams.idle.touch

    def pass_by(self, days: float, step: float = 0.5) -> None:
        for _ in range(round(days / step)):
            self.clock.now += timedelta(days=step)
            self.lived += step * DAY
            self.look()

    def look(self) -> None:
        self.engine.teams.idle._ends.clear()
        self.engine.teams.idle.look(self.engine._libraries.names(self.engine.private_libraries), NEVER)


@pytest.fixture
def mine(engine_with: Make, clock: StillClock, url: str) -> tuple[Engine, str, Hours]:
    """A private workspace with content, known since today."""
    engine = engine_with(url, idle_days=30, warn_days=10)
    workspace = name_of(engine.private_libraries.issue())
    fill(engine, workspace=workspace)
    hours = Hours(engine, clock)
    hours.look()
    return engine, workspace, hours


def test_it_is_warned_of_and_removed_whole_when_its_day_has_come(mine: tuple[Engine, str, Hours]) -> None:
    engine, workspace, hours = mine
    hours.pass_by(29)
    assert engine.teams.idle.ends(workspace) is None
    hours.pass_by(1.5)
    assert engine.teams.idle.ends(workspace) == date(2026, 11, 23) + timedelta(days=40)
    engine.teams.quotas.change(workspace, "library_documents", 5, seen=0, by="ada")
    hours.pass_by(8.5)
    assert engine.library(workspace).documents.count() == 1, "not a day before"
    hours.pass_by(1.5)
    assert not engine.private_libraries.holds(workspace) and engine.library().documents.count() == 1
    assert engine.teams.idle.ends(workspace) is None and not [
        k for k in engine.teams.quotas.overrides.all() if k[0] == workspace
    ]
    said = [(each.act, each.what) for each in engine.teams.audit.entries(workspace=workspace)]
    assert said == [("remove", "idle workspace"), ("workspace", "warned of its end")]


def test_using_it_takes_the_date_away(mine: tuple[Engine, str, Hours]) -> None:
    engine, workspace, hours = mine
    hours.pass_by(38)
    assert engine.teams.idle.ends(workspace)
    assert engine.trace(RunRequest("How long did hiring take in 2019?", workspace=workspace)).answer
    assert engine.teams.idle.ends(workspace) is None
    hours.pass_by(29)
    assert engine.teams.idle.ends(workspace) is None and engine.private_libraries.holds(workspace)


@pytest.mark.parametrize("jumps", [[400], [45, 11], [45, 1, 1, 1, 1, 1, 11], [400, -400, 400], [-400, 800]])
def test_a_clock_that_jumps_removes_nothing(mine: tuple[Engine, str, Hours], jumps: list[int]) -> None:
    engine, workspace, hours = mine
    for days in jumps:
        hours.clock.now += timedelta(days=days)
        for _ in range(3):
            hours.lived += 3600
            hours.look()
    assert engine.private_libraries.holds(workspace)
    hours.clock.now -= timedelta(days=sum(jumps))
    hours.pass_by(3)
    assert engine.teams.idle.ends(workspace) is None, "once the clock is right the warning is void"


def test_off_by_default_and_shared_ones_stay(engine_with: Make, clock: StillClock) -> None:
    engine = engine_with()
    workspace = name_of(engine.private_libraries.issue())
    fill(engine, workspace=workspace)
    hours = Hours(engine, clock)
    hours.pass_by(800, step=10)
    assert engine.private_libraries.holds(workspace)
    engine.config = engine.config.changed(idle_days=30, warn_days=2)
    hours.pass_by(400, step=1)
    assert not engine.private_libraries.holds(workspace) and engine.library().documents.count() == 1


def test_what_cannot_be_removed_is_tried_again(mine: tuple[Engine, str, Hours]) -> None:
    engine, workspace, hours = mine
    hours.pass_by(39)
    gone: list[str] = []

    def fails(name: str) -> None:
        gone.append(name)
        raise StorageError("The disk fails.")

    engine.teams.idle._remove = fails
    hours.pass_by(3)
    assert set(gone) == {workspace} and len(gone) > 1 and engine.teams.idle.ends(workspace)
    engine.teams.idle._remove = engine.remove
    hours.pass_by(1)
    assert not engine.private_libraries.holds(workspace)


def test_a_process_that_lives_for_hours_only_removes_nothing() -> None:
    life: object = Life(used=100)
    for today in range(130, 500):
        life = judge_idle(life, today, idle_days=30, warn_days=10, lived=False)  # type: ignore[arg-type]
        assert isinstance(life, Life)


def test_those_that_have_a_warning_are_listed_and_an_admin_keeps_one(mine: tuple[Engine, str, Hours]) -> None:
    engine, workspace, hours = mine
    assert engine.teams.idle.endings() == []
    hours.pass_by(31)
    [found] = engine.teams.idle.endings()
    assert (found.workspace, found.used) == (workspace, date(2026, 11, 23)) and found.ends == engine.teams.idle.ends(
        workspace
    )
    engine.teams.idle.keep(workspace)
    assert engine.teams.idle.endings() == [] and engine.teams.idle.ends(workspace) is None
    hours.pass_by(29)
    assert engine.private_libraries.holds(workspace)
    engine.config = engine.config.changed(idle_days=0)
    assert engine.teams.idle.endings() == [], "nobody is removed, so nobody is listed"


def test_an_empty_private_workspace_ends_while_the_program_runs(engine_with: Make) -> None:
    engine = engine_with()
    workspace = name_of(engine.private_libraries.issue())
    fill(engine, workspace=workspace)
    library = engine.library(workspace)
    for document in library.documents.all():
        library.documents.delete(document.id)
    library.purges.expire(datetime.now(UTC) + timedelta(days=400))
    engine._libraries.forget(engine.private_libraries.root / workspace)
    engine.tidy(NEVER)
    assert engine.private_libraries.holds(workspace), "not before a day has gone by"
    found_empty = engine.config.storage.data / "empty.json"
    found_empty.write_text(json.dumps({workspace: json.loads(found_empty.read_bytes())[workspace] - 2 * DAY}))
    engine.tidy(NEVER)
    assert not engine.private_libraries.holds(workspace) and engine.library(workspace).documents.count() == 0
