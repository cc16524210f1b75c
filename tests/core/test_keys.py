"""Where keys are looked for, which one wins, and that none can be read off what is printed."""

from __future__ import annotations

import json
import pickle

import pytest
from pydantic import SecretStr

from crag.core.config import Keys
from crag.providers.registry import given_keys, key_variables


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
