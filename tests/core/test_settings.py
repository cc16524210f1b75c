"""Settings are declared once, checked everywhere, and every strategy is a valid bundle of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from crag.core.fields import meta
from crag.core.settings import Settings
from crag.core.types import Aggregation
from crag.strategies import STRATEGIES, strategy


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"k": 0}, "k"),
        ({"k": 51}, "k"),
        ({"upper": 1.5}, "upper"),
        ({"upper": 0.2, "lower": 0.3}, "lower threshold"),
        ({"binary": True}, "yes-or-no"),
        ({"aggregation": "joint"}, "joint"),
        ({"evaluator": "joint"}, "joint"),
        ({"aggregation": "best"}, "aggregation"),
        ({"no_such": 1}, "no_such"),
    ],
)
def test_a_bad_setting_is_named(changes: dict[str, object], names: str) -> None:
    with pytest.raises(SettingsError, match=names):
        Settings().changed(**changes)


def test_every_setting_says_what_a_form_needs() -> None:
    for model in (Settings, AppConfig):
        for name in model.model_fields:
            found = meta(model, name)
            assert found["label"] and found["help"] and found["group"], name
            if isinstance(found["default"], int | float) and not isinstance(found["default"], bool):
                assert found["minimum"] <= found["default"] <= found["maximum"], name


def test_strategies_survive_json_and_are_all_there() -> None:
    assert next(iter(STRATEGIES)) == "balanced"
    assert {"paper", "three-way", "joint", "binary-any", "binary-strict", "loop", "plain-rag"} < set(STRATEGIES)
    for each in STRATEGIES.values():
        assert Settings.checked(each.settings.model_dump(mode="json")) == each.settings
    with pytest.raises(SettingsError, match="balanced"):
        strategy("none-such")


def test_what_is_given_beats_the_environment_and_that_beats_the_default() -> None:
    environment = {"CRAG_MAX_PAGES": "7", "CRAG_THREADS": "2", "CRAG_DATA": ""}
    config = AppConfig.from_environment(environment, threads=3, max_file_mb=None)
    assert (config.max_pages, config.threads, config.max_file_mb, config.data) == (7, 3, 100, Path("data"))
    with pytest.raises(SettingsError, match="max_pages"):
        AppConfig.from_environment({"CRAG_MAX_PAGES": "many"})


def test_changed_is_checked_and_leaves_the_original() -> None:
    before = Settings()
    after = before.changed(aggregation="worst", upper=0.9)
    assert (after.aggregation, before.aggregation) == (Aggregation.WORST, Aggregation.ANY)
