"""Settings are declared once, checked everywhere, and every strategy is a valid bundle of them."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from crag.core.config import SETTINGS, AppConfig, Keys, find_unknown_variables
from crag.core.errors import SettingsError
from crag.core.settings import Settings, meta
from crag.messages.wording import stored_sentence
from crag.providers.registry import given_keys, key_variables

ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()) | st.just({"a": [1]})


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"k": 0}, "k"),
        ({"k": 51}, "k"),
        ({"upper": 0.2, "lower": 0.3}, "lower threshold"),
        ({"binary": True}, "yes-or-no"),
        ({"aggregation": "joint"}, "joint"),
        ({"no_such": 1}, "no_such"),
        ({"where": "date >="}, r"where: .*gives no value.*\S\. Correct"),
    ],
)
def test_a_bad_setting_is_named(changes: dict[str, object], names: str) -> None:
    with pytest.raises(SettingsError, match=names):
        Settings().changed(**changes)


@pytest.mark.parametrize(
    ("values", "changes", "unknown", "invalid"),
    [
        ({"k": 3, "speed": 9, "half": None}, {"k": 3}, ("speed", "half"), ()),
        ({"k": 99, "lower": 0.1}, {"lower": 0.1}, (), ("k",)),
        ({"k": "many", "upper": float("nan"), "strips": "halves", "verify": [], "lower": 0.1}, {"lower": 0.1}, (), ...),
        ({"where": "date >=", "k": 3}, {"k": 3}, (), ("where",)),
        ({"web_on": ["CORRECT", "MAYBE"], "loop_on": []}, {"loop_on": ()}, (), ("web_on",)),
        ({"lower": 0.9, "upper": 0.3, "k": 3}, {"k": 3}, (), ("lower", "upper")),
        ({"binary": True, "upper": 0.5, "lower": 0.2}, {"lower": 0.2}, (), ("binary", "upper")),
        ({"evaluator": "none", "forced": "CORRECT", "k": 3}, {"k": 3}, (), ("evaluator", "forced")),
        ({"changed": 1, "": 2, "model_fields": 3, "upper": {"a": {}}}, {}, ("changed", "", "model_fields"), ("upper",)),
    ],
)
def test_stored_settings_of_another_build_are_read_as_far_as_they_go(
    values: dict[str, Any], changes: dict[str, Any], unknown: tuple[str, ...], invalid: Any
) -> None:
    stored = Settings.stored(values)
    assert stored.settings == Settings().changed(**changes)
    assert stored.unknown == unknown
    assert stored.invalid == (("k", "upper", "strips", "verify") if invalid is ... else invalid)


@given(st.dictionaries(st.sampled_from([*Settings.model_fields, "gone", ""]), ANY))
def test_no_stored_settings_are_unreadable(values: dict[str, Any]) -> None:
    stored = Settings.stored(values)
    assert Settings.checked(stored.settings.model_dump()) == stored.settings
    assert bool(stored_sentence(stored)) == bool(stored.unknown or stored.invalid)


def test_what_of_stored_settings_is_lost_is_said_in_one_line() -> None:
    assert stored_sentence(Settings.stored({"k": 3})) == ""
    names = {f"unheard_of_{number}": number for number in range(7)}
    said = stored_sentence(Settings.stored({"upper": 7, **names}))
    assert "unheard_of_4 and 2 more." in said and said.endswith("at their default: Upper threshold.")


def test_every_setting_says_what_a_form_needs() -> None:
    for model in (Settings, *dict.fromkeys(SETTINGS.values())):
        for name in model.model_fields:
            found = meta(model, name)
            assert found["label"] and found["help"] and found["group"], name
            if isinstance(found["default"], int | float) and not isinstance(found["default"], bool):
                assert found["minimum"] <= found["default"] <= found["maximum"], name


def test_what_is_given_beats_the_environment_and_that_beats_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CRAG_MAX_PAGES": "7", "CRAG_THREADS": "2", "CRAG_DATA": "", "CRAG_ADMINS": "a@b, c@d"}.items():
        monkeypatch.setenv(name, value)
    config = AppConfig.from_environment(threads=3, max_file_mb=None)
    assert (config.limits.max_pages, config.models.threads, config.limits.max_file_mb) == (7, 3, 100)
    assert (config.storage.data, config.people.admins) == (Path("data"), ("a@b", "c@d"))
    assert config.flat(given=True) == {"max_pages": 7, "threads": 3, "admins": ("a@b", "c@d")}
    monkeypatch.setenv("CRAG_MAX_PAGES", "many")
    with pytest.raises(SettingsError, match="max_pages"):
        AppConfig.from_environment()


def test_a_setting_has_one_name_in_all_groups_and_what_code_makes_reads_no_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(SETTINGS) == sum(len(group.model_fields) for group in dict.fromkeys(SETTINGS.values()))
    monkeypatch.setenv("CRAG_MAX_PAGES", "7")
    config = AppConfig.of(all_mb=3)
    assert (config.limits.max_pages, config.quotas.all_mb) == (2000, 3)
    assert config.changed(all_mb=4, web="tavily").flat(given=True) == {"all_mb": 4, "web": "tavily"}
    with pytest.raises(SettingsError, match="Did you mean max_pages"):
        AppConfig.of(max_page=1)


# The configuration from the environment


def test_a_misspelt_variable_is_named_with_the_nearest_one_and_without_its_value(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CRAG_RUN_CALS", "secret-value")
    monkeypatch.setenv("CRAG_SOMETHING_ELSE", "x")
    monkeypatch.setenv("CRAG_OWN_PROVIDER_KEY", "k")
    AppConfig.from_environment()
    said = [record.getMessage() for record in caplog.records if "environment variable" in record.getMessage()]
    assert len(said) == 2 and "secret-value" not in "".join(said)
    assert "CRAG_RUN_CALS" in said[0] and "CRAG_RUN_CALLS" in said[0] and "CRAG_SOMETHING_ELSE" in said[1]
    assert find_unknown_variables({"CRAG_TAVILY_KEY": "k", "CRAG_DATA": "d", "CRAG_SEARXNG_BASE_URL": "u"}) == {}


# Where keys are looked for, which one wins, and that none can be read off what is printed


@pytest.mark.parametrize(
    ("name", "variable"), [(name, each) for name, many in key_variables().items() for each in many]
)
def test_each_variable_gives_its_key(name: str, variable: str) -> None:
    key = given_keys({variable: "  sk-1 "}).get(name)
    assert key.get_secret_value() == "sk-1"


def test_the_first_variable_wins_and_blank_ones_are_none() -> None:
    found = given_keys({"CRAG_TAVILY_KEY": "mine", "TAVILY_API_KEY": "theirs", "CRAG_LLM_KEY": "  "})
    assert found.get("tavily").get_secret_value() == "mine"
    assert found.get("llm") is None


def test_what_is_no_text_is_no_key() -> None:
    assert given_keys({"CRAG_LLM_KEY": {"nested": "table"}, "OPENAI_API_KEY": 7}) == Keys()


def test_keys_over_others_take_what_they_lack() -> None:
    mine, theirs = Keys(llm=SecretStr("a")), Keys(llm=SecretStr("b"), tavily=SecretStr("c"))
    both = mine.over(theirs)
    assert both == Keys(llm=SecretStr("a"), tavily=SecretStr("c"))


def test_no_text_form_tells_a_key() -> None:
    keys = Keys(llm=SecretStr("sk-very-secret"), tavily=SecretStr("tvly-very-secret"))
    told = [repr(keys), str(keys), f"{keys}", json.dumps(keys, default=str)]
    assert not any("very-secret" in each for each in told)
    assert "very-secret" in str(pickle.loads(pickle.dumps(keys)).get("llm").get_secret_value())  # so the check can fail
