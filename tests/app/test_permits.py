"""What a session may choose, and which of the owner's keys go with it: to the owner's own servers and nowhere else."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from ui.access import allowed_choices
from ui.app.keys import usable

HERE, THERE = "http://127.0.0.1:1/v1", "http://elsewhere.test/v1"
OWNER = Keys(**{name: SecretStr(f"the owner's {name}") for name in ("llm", "openai", "rerank", "tavily")})
OWN = AppConfig.of(llm="openai-compatible", llm_base_url=HERE, llm_model="m", rerank_base_url=HERE, web="tavily")


def given(config: AppConfig, own: AppConfig = OWN, *, shared: bool = False) -> set[str]:
    keys = usable(OWNER, own, config, shared=shared)
    return {name for name in ("llm", "openai", "rerank", "tavily") if keys.get(name)}


def changed(own: AppConfig = OWN, **values: object) -> AppConfig:
    return own.changed(**values)


@pytest.mark.parametrize(
    ("choices", "withheld"),
    [
        ({}, set()),
        ({"llm_model": "another", "evaluator": "llm"}, set()),
        ({"llm_base_url": f" {HERE}/ "}, set()),
        ({"llm_base_url": THERE}, {"llm"}),
        ({"llm_base_url": HERE.replace(":1/", ":11/")}, {"llm"}),
        ({"llm_base_url": ""}, {"llm"}),
        ({"llm": "openai"}, {"llm"}),
        ({"llm": "none"}, {"llm"}),
        ({"rerank_base_url": THERE}, {"rerank"}),
        ({"tavily_base_url": THERE}, {"tavily"}),
    ],
)
def test_the_owners_keys_go_to_the_owners_servers_only(choices, withheld):
    assert given(changed(**choices)) == {"llm", "openai", "rerank", "tavily"} - withheld


def test_strangers_are_not_served_with_keys_for_what_the_owner_did_not_turn_on():
    own = AppConfig.of(llm="openai-compatible", llm_base_url=HERE)
    theirs = changed(own, llm="openai", web="tavily")
    assert given(theirs, own) >= {"openai", "tavily"}, "the owner alone may well"
    assert not given(theirs, own, shared=True) & {"llm", "openai", "tavily"}
    assert given(changed(OWN), OWN, shared=True) >= {"llm", "tavily"}
    assert "openai" in given(AppConfig.of(llm="openai"), AppConfig.of(llm="openai"), shared=True)


def test_the_owner_alone_may_choose_anything_but_servers():
    choices = {
        **{"llm": "openai-compatible", "llm_base_url": THERE, "web_folder": Path("pages"), "private_addresses": True},
        **{"servers": (THERE,), "data": Path("/elsewhere"), "run_calls": 5000},
    }
    found = allowed_choices.permitted(AppConfig(), choices, shared=False)
    assert found == AppConfig.of(
        llm="openai-compatible", llm_base_url=THERE, web_folder=Path("pages"), private_addresses=True
    )


@pytest.mark.parametrize("name", ["web_folder", "private_addresses", "tavily_base_url"])
def test_what_reaches_into_the_machine_is_not_for_strangers(name):
    value = {"web_folder": Path("/etc"), "private_addresses": True, "tavily_base_url": HERE}[name]
    assert allowed_choices.permitted(AppConfig(), {name: value}, shared=True) == AppConfig()
    assert not allowed_choices.free(name, shared=True)


def test_strangers_may_name_no_server_where_none_is_allowed():
    own = AppConfig()
    assert (
        allowed_choices.offered("llm", own, shared=True) == ["none", "openai"]
        and allowed_choices.addresses(own, shared=True) == ()
    )
    asked = {"llm": "openai-compatible", "llm_base_url": HERE, "rerank_base_url": HERE, "evaluator": "reranker"}
    found = allowed_choices.permitted(own, asked, shared=True)
    assert (found.providers.llm, found.providers.llm_base_url, found.providers.rerank_base_url) == ("none", "", "")
    assert allowed_choices.permitted(own, {"llm": "openai", "llm_model": "gpt"}, shared=True).providers.llm == "openai"


@pytest.mark.parametrize("shared", [True, False])
def test_where_servers_are_allowed_only_those_and_the_owners_own_may_be_named(shared):
    own = changed(servers=(THERE,))
    assert allowed_choices.addresses(own, shared=shared) == (THERE, HERE)
    for address in (THERE, f"{THERE}/", HERE):
        assert (
            allowed_choices.permitted(own, {"llm_base_url": address}, shared=shared).providers.llm_base_url == address
        )
    for address in (f"{THERE}/../admin", "http://169.254.169.254/", "http://elsewhere.test:81/v1"):
        assert allowed_choices.permitted(own, {"llm_base_url": address}, shared=shared).providers.llm_base_url == HERE
    assert allowed_choices.permitted(own, {}, shared=shared).providers.servers == (THERE, HERE), (
        "the engine refuses all others as well"
    )


def test_what_the_environment_sets_is_not_for_a_session_to_change(monkeypatch):
    monkeypatch.setenv("CRAG_LLM", "none")
    assert allowed_choices.permitted(AppConfig(), {"llm": "openai"}, shared=False).providers.llm == "none"
    assert "CRAG_LLM;" in allowed_choices.why_fixed("llm") and not allowed_choices.why_fixed("web")


def test_a_search_server_is_limited_as_model_servers_are():
    own = AppConfig.of(servers=(THERE,), searxng_base_url=HERE)
    assert set(allowed_choices.addresses(own, shared=True)) == {THERE, HERE}
    chosen = allowed_choices.permitted(own, {"web": "searxng", "searxng_base_url": THERE}, shared=True)
    assert chosen.get("searxng_base_url") == THERE
    for address in ("http://169.254.169.254", "http://elsewhere.test:81/v1"):
        chosen = allowed_choices.permitted(own, {"searxng_base_url": address}, shared=True)
        assert chosen.get("searxng_base_url") == HERE
    away = allowed_choices.permitted(AppConfig(), {"searxng_base_url": "http://127.0.0.1:8888"}, shared=True)
    assert away.get("searxng_base_url") == ""
    assert "searxng" not in allowed_choices.offered("web", AppConfig(), shared=True)


@pytest.mark.parametrize("address", ["http://[::1", "http://host:port/v1", "http://host:99999/v1"])
def test_what_cannot_be_read_as_an_address_is_none_not_the_owners(address):
    assert not allowed_choices.readable(address) and allowed_choices.readable(HERE)
    assert allowed_choices.permitted(OWN, {"llm_base_url": address}, shared=False).providers.llm_base_url == ""


def test_where_others_can_reach_the_app_a_model_file_is_the_owners_to_choose():
    file, other = "/models/own.gguf", "/etc/other.gguf"
    own = AppConfig.of(llm="gguf", llm_model=file)
    assert allowed_choices.permitted(own, {"llm_model": other}, shared=True).providers.llm_model == file
    assert allowed_choices.permitted(own, {"llm_model": other}, shared=False).providers.llm_model == other
    assert (
        allowed_choices.permitted(OWN, {"llm": "gguf", "llm_model": other}, shared=True).providers.llm
        == OWN.providers.llm
    )
    assert "gguf" not in allowed_choices.offered("llm", OWN, shared=True)
    assert "gguf" in allowed_choices.offered("llm", own, shared=True)
    assert "gguf" in allowed_choices.offered("llm", OWN, shared=False)
