"""Keys are in nothing that outlives a run: logs of every level, the stored library, exports, traces, crash output."""

import logging
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from crag.core.events import events_to_jsonl
from crag.core.protocols import RetrievalEvaluator, RunRequest
from crag.core.trace import Trace
from crag.engine import Engine
from crag.export.html import pages
from crag.providers.prices import table
from crag.runtime.jobs import Jobs
from tests.support import local_models
from tests.support.model_server import KEY as ECHOED
from ui.app.program import program

MODEL_KEY, WEB_KEY = "sk-secrecy-7Tq2Vx9Lm4", "tvly-secrecy-8Kd3Nb6Wp1"
QUESTION = "What average premium increase was negotiated for FEHB plan year 2020?"


class Crashing:
    """An evaluator with a defect: no error of ours, so nobody expects it."""

    id, calls_models = "crashing", False

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    def grade(self, question: str, passages: object) -> Iterator[object]:
        raise RuntimeError(f"a defect while holding {self.keys}")

    grade_joint = grade


@pytest.mark.parametrize("model", ["ok", "wrong-key", "broken", "cut-off"])
def test_a_run_leaves_no_key_behind(data, with_sample, model_server, model, caplog) -> None:
    """The server `wrong-key` writes the key it refuses into its error."""
    model_server.reply = '{"reason": "it says so", "score": 0.7}'
    keys = Keys(llm=SecretStr(ECHOED if model == "wrong-key" else MODEL_KEY), tavily=SecretStr(WEB_KEY))
    config = AppConfig.from_environment(
        llm="openai-compatible", llm_base_url=model_server.address, llm_model=model, evaluator="llm"
    )
    with caplog.at_level(logging.DEBUG), local_models.engine(config, keys=keys) as engine:
        events = list(engine.ask(QUESTION))
    trace = Trace.from_events(events)
    assert trace.answer is not None and trace.calls
    files = {str(file): file.read_bytes() for file in data.rglob("*") if file.is_file()}
    left = {
        "log": caplog.text.encode(),
        "events": events_to_jsonl(events).encode(),
        "trace": trace.to_json().encode(),
        "export": pages.page(trace, events, table(())).encode(),
        "engine": repr(vars(engine)).encode(),
        **files,
    }
    assert any(QUESTION.encode() in found for found in files.values())  # so a key would be found too
    for key in (MODEL_KEY, WEB_KEY, ECHOED):
        assert [place for place, found in left.items() if key.encode() in found] == []


def test_a_crash_tells_no_key(with_sample, caplog) -> None:
    keys = Keys(llm=SecretStr(MODEL_KEY), tavily=SecretStr(WEB_KEY))
    crashing: RetrievalEvaluator = Crashing(keys)  # type: ignore[assignment]
    with Engine(AppConfig.from_environment(), keys, evaluator=crashing) as engine:

        def work(cancel, emit) -> None:
            for event in engine.ask(RunRequest(QUESTION, cancel=cancel)):
                emit(event)

        with caplog.at_level(logging.DEBUG):
            job = Jobs().start("run", QUESTION, work, workspace="default")
            list(job.follow())
    assert job.problem is None  # the run ends, its grades failed
    assert "RuntimeError" in caplog.text  # the log does hold the crash
    told = caplog.text + repr(list(job.follow())) + repr(program())
    assert MODEL_KEY not in told and WEB_KEY not in told
