"""Runs while a service is down for long: the first ones wait for it, the others do not, until it answers again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.analysis.monitoring.reading import facts_of
from crag.core.config import AppConfig, Keys
from crag.core.trace import Trace
from crag.engine import Engine
from crag.runtime.circuits import REST, RUNS
from crag.testing.fakes import FakeClock, ScriptedEvaluator
from tests.support.failing_servers import LLM_KEY, TAVILY_KEY, Part, World, world
from tests.support.small_library import engine_with_texts


@pytest.fixture
def outside() -> Iterator[World]:
    with world({"grade": "500", "search": "500"}) as running:
        yield running


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def engine(tmp_path: Path, outside: World, clock: FakeClock) -> Iterator[Engine]:
    config = AppConfig.of(
        data=tmp_path / "data",
        llm="openai-compatible",
        llm_base_url=f"{outside.address}/v1",
        llm_model="tester",
        evaluator="llm",
        web="tavily",
        tavily_base_url=outside.address,
        private_addresses=True,
    )
    local = ScriptedEvaluator(score=lambda text: 0.3, id="local")
    keys = Keys(llm=SecretStr(LLM_KEY), tavily=SecretStr(TAVILY_KEY))
    with engine_with_texts(config, keys=keys, evaluator=local, clock=clock) as made:
        yield made


def asked(engine: Engine, outside: World, number: int) -> tuple[Trace, set[Part]]:
    """A run, and which parts of the world were asked in it."""
    outside.asked.clear()
    return engine.trace(f"How long did hiring take in year {number}?"), set(outside.asked)


def test_what_is_down_is_left_alone_after_some_runs_and_used_again_when_it_answers(
    engine: Engine, outside: World, clock: FakeClock
) -> None:
    for number in range(RUNS):
        trace, seen = asked(engine, outside, number)
        assert {"grade", "search"} <= seen
        assert trace.answer is not None
    trace, seen = asked(engine, outside, 10)
    assert not {"grade", "search"} & seen
    assert {"rewrite", "answer"} <= seen, "what works of the same server is still used"
    assert {(each.step, each.reason) for each in trace.failures} == {("evaluate", "resting"), ("search", "resting")}
    assert trace.answer is not None
    assert {"evaluate: resting", "search: resting"} <= set(facts_of(trace, {}).failures)
    assert not any(key in trace.to_json() for key in (LLM_KEY, TAVILY_KEY))

    outside.fails.clear()
    clock.ahead += REST + 1
    trace, seen = asked(engine, outside, 11)
    assert {"grade", "search"} <= seen
    assert not trace.failures
