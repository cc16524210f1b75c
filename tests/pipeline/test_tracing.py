"""A run as OpenTelemetry spans and as LangSmith runs: when they are asked for, never otherwise, and without any key."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from tests.support import web_server
from tests.support.model_server import serving
from tests.support.small_library import engine_with_texts
from tests.support.web_server import Reply, Request

ROOT = Path(__file__).resolve().parents[2]

QUESTION = "How long did hiring take in 2019?"
KEY = "sk-never-in-a-trace"

PROGRAM = """
import os, sys
sys.path.insert(0, {here!r})
from tests.support.small_library import WordEmbedder, fill, engine_with_texts, spread
from crag.testing.fakes import ScriptedEvaluator
from crag.engine import Engine
engine = Engine(embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))
fill(engine)
list(engine.ask({before!r}))
from langsmith.utils import get_env_var
os.environ["LANGSMITH_TRACING"] = "true"
get_env_var.cache_clear()
list(engine.ask({question!r}))
from langchain_core.tracers.langchain import wait_for_all_tracers
wait_for_all_tracers()
"""


def asked(folder: Path, address: str, model: str) -> None:
    """One run of an engine whose model is at `address`."""
    config = AppConfig.of(data=folder, llm="openai-compatible", llm_base_url=address, llm_model=model, evaluator="llm")
    with engine_with_texts(config, keys=Keys(llm=SecretStr(KEY))) as engine:
        list(engine.ask(QUESTION))


@pytest.mark.parametrize("model", ["ok", "broken"])
def test_a_run_its_steps_and_its_calls_are_spans_in_one_another(tmp_path: Path, model: str) -> None:
    telemetry = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    from opentelemetry import trace as api
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider = api.get_tracer_provider()
    if not isinstance(provider, telemetry.TracerProvider):
        provider = telemetry.TracerProvider()
        api.set_tracer_provider(provider)
    seen = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(seen))
    with serving() as server:
        asked(tmp_path, server.address, model)
    spans = seen.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}
    (run,) = [span for span in spans if span.parent is None]
    assert run.name == "crag.pipeline" and run.attributes["crag.strategy"] == "balanced"
    owners = {span.name: by_id[span.parent.span_id].name for span in spans if span.parent}
    assert owners["crag.retrieve"] == owners["crag.answer"] == "crag.pipeline"
    calls = [span for span in spans if span.name == f"chat {model}"]
    assert {by_id[span.parent.span_id].name for span in calls} >= {"crag.evaluate", "crag.answer"}
    assert all(run.start_time <= span.start_time <= span.end_time <= run.end_time for span in spans)
    failed = {span.status.status_code.name for span in calls}
    assert failed == ({"ERROR"} if model == "broken" else {"UNSET"})
    if model == "ok":
        assert {span.attributes["gen_ai.usage.output_tokens"] for span in calls} == {10, 12}
    told = "".join(span.to_json() for span in spans)
    assert KEY not in told and QUESTION not in told and "hired four hundred" not in told


def limits_of_a_tracer(request: Request) -> Reply:
    """What LangSmith's client asks for before it sends anything, and what it gets for that."""
    limits = {"size_limit": 100, "size_limit_bytes": 10_000_000, "scale_up_nthreads_limit": 2}
    limits |= {"scale_up_qsize_trigger": 1000, "use_multipart_endpoint": False}
    asked = {"version": "1", "batch_ingest_config": limits} if request.method == "GET" else {}
    return Reply(kind="application/json", body=json.dumps(asked).encode())


@pytest.mark.slow
def test_langsmith_hears_of_a_run_only_where_its_variables_are_set(tmp_path: Path) -> None:
    """A process asks without the one that says so, and then with it."""
    before = "How many people were hired?"
    with serving() as model, web_server.serving(limits_of_a_tracer) as listener:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("LANG", "CRAG_"))},
            "PYTHONPATH": str(ROOT),
            "CRAG_DATA": str(tmp_path),
            "CRAG_LLM": "openai-compatible",
            "CRAG_LLM_BASE_URL": model.address,
            "CRAG_LLM_MODEL": "ok",
            "CRAG_LLM_KEY": KEY,
            "LANGSMITH_ENDPOINT": listener.address,
            "LANGSMITH_API_KEY": "lsv2-test",
        }
        program = PROGRAM.format(here=str(ROOT), before=before, question=QUESTION)
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.returncode == 0, ran.stderr
        sent = [each for each in listener.seen if each.method != "GET"]
    packed = [each.headers.get("Content-Encoding") == "gzip" for each in sent]
    taken = b"".join(gzip.decompress(one.body) if gz else one.body for one, gz in zip(sent, packed, strict=True))
    assert before.encode() not in taken
    assert QUESTION.encode() in taken and b"ChatOpenAI" in taken
    assert KEY.encode() not in taken
    assert KEY not in ran.stdout + ran.stderr
