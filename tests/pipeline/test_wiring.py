"""What a configuration comes to: who works, what is missing and why, what leaves this machine and what it costs."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.messages.providers import describe_plan
from crag.pipeline.resolve import ProviderPlan, problem, resolve_providers
from crag.runtime.provider import Price

KEY = "sk-owner-and-nobody-else"
SERVED = {"llm": "openai-compatible", "llm_base_url": "http://127.0.0.1:9/v1/", "llm_model": "m"}
ALL = Keys(**{slot: SecretStr(KEY) for slot in ("llm", "openai", "rerank", "tavily", "brave")})


def of(keys: Keys = ALL, settings: Settings | None = None, given_web: str = "", **config: object) -> ProviderPlan:
    return resolve_providers(AppConfig.of(**config), keys, settings, given_web=given_web)


def names(plan: ProviderPlan) -> list[str]:
    return [each.provider.name for each in plan.webs]


def test_without_any_choice_all_is_local_and_nothing_leaves() -> None:
    found = of(Keys())
    assert (found.model, found.writer, found.webs, found.missing, found.leaving) == (None, None, (), (), ())
    assert found.grader.provider.name == "local" and found.grader.host == ""


def test_webs_come_in_the_order_they_are_asked_each_once() -> None:
    assert names(of(web="tavily", web_fallback="brave")) == ["tavily", "brave"]
    assert names(of(web="brave", web_fallback="brave")) == ["brave"]
    assert names(of(web="off", web_fallback="brave")) == []
    assert names(of(web="brave", given_web="pages")) == ["folder", "brave"], "given pages come first"
    assert names(of(web="brave", web_fallback="folder", given_web="pages")) == ["brave", "folder"]
    assert [each.host for each in of(web="searxng", searxng_base_url="http://[::1]:8888/s/").webs] == ["[::1]:8888"]


def test_what_leaves_is_told_from_what_stays() -> None:
    found = of(web="folder", web_folder=Path("pages"), web_fallback="brave", ask_before_web=True)
    assert names(found) == ["folder", "brave"] and [each.provider.name for each in found.outside_webs] == ["brave"]
    assert found.asks and not of(web="folder", web_folder=Path("p"), ask_before_web=True).asks
    assert found.outside_webs[0].price == Price(call=0.005)
    assert of(web="brave", prices=("brave=0/0/1",)).webs[0].price == Price(call=1)
    assert of(web="brave", prices=("oops",)).webs[0].price == Price(call=0.005), "the Costs tab says what is wrong"


@pytest.mark.parametrize(
    ("config", "keys", "step", "name", "reason"),
    [
        ({"llm": "openai", "llm_model": "m"}, Keys(tavily=SecretStr(KEY)), "answer", "openai", "no-key"),
        ({"llm": "openai"}, ALL, "answer", "openai", "no-model"),
        ({**SERVED, "llm_base_url": "http://[::1"}, ALL, "answer", "openai-compatible", "bad-address"),
        ({**SERVED, "servers": ("http://a/v1",)}, ALL, "answer", "openai-compatible", "not-allowed"),
        ({"llm": "gone"}, ALL, "answer", "gone", "unknown"),
        ({"evaluator": "llm"}, ALL, "evaluate", "llm", "no-language-model"),
        ({"evaluator": "reranker"}, ALL, "evaluate", "reranker", "no-address"),
    ],
)
def test_what_is_missing_is_a_fact_with_a_sentence(config, keys, step, name, reason) -> None:
    found = of(keys, **config)
    [missing] = found.missing
    assert (missing.step, missing.name, missing.reason) == (step, name, reason)
    assert found.missing_for(step) is missing and (missing.provider is None) == (reason == "unknown")
    error = problem(missing)
    assert error.message.endswith(".") and error.remedy.endswith(".") and KEY not in str(error)
    assert any(error.message in each.detail for each in describe_plan(found)) or reason == "no-language-model"


def test_a_run_that_searches_no_web_misses_none() -> None:
    plain = STRATEGIES["plain-rag"].settings
    found = of(Keys(), plain, web="tavily", web_fallback="duckduckgo", ask_before_web=True)
    assert found.webs == () and found.missing == () and not found.asks


def test_a_key_for_openai_goes_to_openai_alone() -> None:
    keys = Keys(openai=SecretStr(KEY))
    away = resolve_providers(
        AppConfig.of(llm="openai-compatible", llm_base_url="http://127.0.0.1:9/v1", llm_model="m"), keys
    )
    home = resolve_providers(AppConfig.of(llm="openai", llm_model="m"), keys)
    assert away.model is not None and away.model.endpoint.key is None
    assert home.model is not None and home.model.endpoint.key == SecretStr(KEY) and home.model.endpoint.base_url is None


def test_each_key_goes_to_its_own_provider() -> None:
    keys = Keys(tavily=SecretStr("t"), brave=SecretStr("b"))
    found = of(keys, web="tavily", web_fallback="brave")
    assert [each.endpoint.key.get_secret_value() for each in found.webs if each.endpoint.key] == ["t", "b"]
    assert of(keys, web="duckduckgo", web_fallback="searxng", searxng_base_url="http://h").webs[1].endpoint.key is None
