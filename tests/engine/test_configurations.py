"""Configurations saved under a name: checked, replaced, renamed, deleted, and known to every way of asking."""

from pathlib import Path

import pytest

from crag.core.errors import InputError, NotFoundError, SettingsError
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.engine import Engine
from crag.storage.configurations import MOST, Configurations
from crag.storage.library import Library
from tests.support.small_library import WordEmbedder, fill

STRICT = STRATEGIES["paper"].settings.changed(upper=0.9, k=3, where={"tags": {"has": "audit"}})


@pytest.fixture
def saved(tmp_path: Path) -> Configurations:
    return Library(tmp_path / "library", WordEmbedder()).configurations


def test_a_saved_configuration_is_read_as_it_was(saved: Configurations) -> None:
    assert saved.all() == {}
    made = saved.save("  Our   strict pair ", "paper", STRICT)
    assert (made.name, made.base, made.settings) == ("Our strict pair", "paper", STRICT)
    assert saved.all() == {"Our strict pair": made}


def test_one_name_is_one_configuration_in_small_and_capital_letters(saved: Configurations) -> None:
    saved.save("Strict", "paper", STRICT)
    other = saved.save("STRICT", "balanced", STRATEGIES["balanced"].settings)
    assert saved.all() == {"STRICT": other}


@pytest.mark.parametrize("name", ["", " \n ", "Balanced", "three-way", "x" * 61, "a\0b", "\ud800\u202e"])
def test_what_can_be_no_name_is_refused_and_nothing_is_stored(saved: Configurations, name: str) -> None:
    with pytest.raises(InputError):
        saved.save(name, "paper", STRICT)
    assert saved.all() == {}


def test_a_renamed_one_is_there_once_and_no_other_is_lost(saved: Configurations) -> None:
    saved.save("One", "paper", STRICT)
    saved.save("Two", "balanced", STRATEGIES["balanced"].settings)
    with pytest.raises(InputError, match="already"):
        saved.rename("one", "TWO")
    saved.rename("One", "one")
    assert [*saved.all()] == ["one", "Two"] and saved.all()["one"].settings == STRICT
    for act in (lambda: saved.rename("Three", "Four"), lambda: saved.delete("Three")):
        with pytest.raises(NotFoundError):
            act()
    assert saved.delete("TWO").name == "Two" and [*saved.all()] == ["one"]


def test_only_so_many_are_kept_and_those_may_change(saved: Configurations) -> None:
    for number in range(MOST):
        saved.save(f"number {number}", "paper", STRICT)
    with pytest.raises(InputError, match=str(MOST)):
        saved.save("one more", "paper", STRICT)
    saved.save("NUMBER 7", "balanced", STRATEGIES["balanced"].settings)
    saved.rename("number 8", "eight")
    assert len(saved.all()) == MOST and saved.all()["NUMBER 7"].base == "balanced"


def test_a_run_asked_by_a_saved_name_is_one_of_its_strategy_and_settings(engine: Engine) -> None:
    fill(engine)
    engine.library().configurations.save("Strict", "paper", STRATEGIES["paper"].settings.changed(upper=0.95))
    trace = Trace.from_events(engine.ask(RunRequest("How long did hiring take?", "Strict", settings={"k": 2})))
    settings = Settings.stored(trace.settings).settings
    assert (trace.strategy, settings.upper, settings.k) == ("paper", 0.95, 2) and trace.answer
    assert [*engine.strategies()][-1] == "Strict"
    engine.library().configurations.delete("Strict")
    with pytest.raises(SettingsError, match="no strategy"):
        engine.ask(RunRequest("How long did hiring take?", "Strict"))
