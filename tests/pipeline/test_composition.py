"""A run's outside parts: chosen by configuration and keys, local where they can't be used, and which key goes where."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from crag.core.errors import ProviderError
from crag.core.events import events_to_jsonl
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from crag.testing.fakes import FakeClock, ScriptedEvaluator, ScriptedStripGrader
from tests.support.model_server import Server
from tests.support.small_library import WordEmbedder, engine_with_texts, spread

QUESTION = "How long did hiring take in 2019?"
KEY = "sk-owner-and-nobody-else"


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[object]:
    with engine_with_texts(AppConfig.of(data=tmp_path), keys=Keys()) as made:

        def asked(keys: Keys | None = None, strategy: str = "balanced", **config: object) -> tuple[Trace, str]:
            chosen = AppConfig.of(**{"data": tmp_path, **config})
            events = list(made.ask(RunRequest(QUESTION, strategy, config=chosen, keys=keys or Keys())))
            return Trace.from_events(events), events_to_jsonl(events)

        yield asked


def served(server: Server, **more: object) -> dict[str, object]:
    return {"llm": "openai-compatible", "llm_base_url": server.address, "llm_model": "ok", **more}


def test_with_a_model_it_grades_answers_and_checks_and_every_call_is_on_record(ask, server) -> None:
    trace, told = ask(Keys(llm=SecretStr(KEY)), **served(server, evaluator="llm"))
    assert trace.failure is None and trace.answer is not None
    assert trace.answer.by.startswith("openai-compatible:ok@127.0.0.1")
    assert {grade.evaluator.split(":")[0] for grade in trace.rounds[-1].grades.values()} == {"llm"}
    assert {call.step for call in trace.calls} >= {"evaluate", "answer", "verify"}
    assert {(call.input_tokens, call.output_tokens) for call in trace.calls if call.step == "answer"} == {(40, 12)}
    assert KEY not in told


class ReadsStrips(ScriptedEvaluator):
    """An evaluator that scores strips in the reading that makes a passage's grade."""

    def __init__(self) -> None:
        ScriptedEvaluator.__init__(self, score=spread)
        self.strips = ScriptedStripGrader(score=lambda strip, passage: 0.77)

    def grade_strips(self, question, passage, spans):
        return self.strips.grade_strips(question, passage, spans)


def test_strips_are_scored_in_their_text_by_an_evaluator_that_can(tmp_path: Path) -> None:
    with engine_with_texts(AppConfig.of(data=tmp_path), keys=Keys(), evaluator=(reads := ReadsStrips())) as made:
        assert {
            strip.score for strip in Trace.from_events(made.ask(RunRequest(QUESTION, "paper"))).kept("internal")
        } != {0.77}
        in_place = strategy("paper").settings.changed(strip_reading="in place")
        trace = Trace.from_events(made.ask(RunRequest(QUESTION, settings=in_place)))
        assert {strip.score for strip in trace.kept("internal")} == {0.77}
        assert set(reads.strips.read) <= {found.chunk.graded_text() for found in trace.rounds[0].chunks}
        read = len(reads.strips.read)
        list(made.ask(RunRequest(QUESTION, settings=in_place)))
        assert len(reads.strips.read) == read


@pytest.mark.parametrize(
    ("config", "says", "step"),
    [
        ({"llm": "openai", "llm_model": "gpt-4o-mini"}, "needs a key", "answer"),
        ({"evaluator": "llm"}, "none is set", "evaluate"),
        ({"web": "tavily"}, "Tavily needs a key", "search"),
        ({"web": "gone"}, "There is no provider called 'gone' here", "search"),
    ],
)
def test_what_can_t_be_used_is_said_once_and_local_parts_do_its_work(ask, config, says, step) -> None:
    trace, _ = ask(**config)
    assert trace.answer is not None and trace.failure is None and trace.calls == ()
    assert [failure.step for failure in trace.failures if says in failure.cause] == [step]


def test_servers_that_are_not_allowed_are_not_called(ask, server) -> None:
    trace, _ = ask(**served(server, servers=("http://127.0.0.1:1/v1",)))
    assert server.seen == [] and trace.answer is not None
    assert "not among the servers" in trace.failures[0].cause
    allowed, _ = ask(**served(server, servers=(f"{server.address}/",)))
    assert allowed.failures == () and server.seen


def test_grades_outside_a_run_come_from_the_configured_model(tmp_path, server) -> None:
    config = AppConfig.of(data=tmp_path, **served(server, evaluator="llm"))
    local = ScriptedEvaluator(score=spread)
    engine = Engine(config, Keys(), embedder=WordEmbedder(), evaluator=local)
    assert [grade.score for grade in engine.grade(QUESTION, ["a", "b"])] == [0.7, 0.7]
    failing = Engine(config.changed(llm_model="broken"), Keys(), evaluator=local, clock=FakeClock())
    grades = list(failing.grade(QUESTION, ["a", "b"]))
    assert [grade.score for grade in grades] == [spread("a"), spread("b")]
    assert all("failed" in grade.why and grade.instead_of for grade in grades)
    with pytest.raises(ProviderError, match="No model"):
        list(Engine(config.changed(llm_model=""), Keys()).grade(QUESTION, ["a"]))
