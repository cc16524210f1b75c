"""A run as OpenTelemetry spans and as LangSmith runs: when they are asked for, never otherwise, and without any key."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.model_server import serving
from tests.support.small_library import WordEmbedder, fill, spread

ROOT = Path(__file__).resolve().parents[2]

QUESTION = "How long did hiring take in 2019?"
KEY = "sk-never-in-a-trace"

PROGRAM = """
import os, sys
sys.path.insert(0, {here!r})
from tests.support.small_library import WordEmbedder, fill, spread
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
    engine = Engine(
        config, Keys(llm=SecretStr(KEY)), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread)
    )
    fill(engine)
    list(engine.ask(QUESTION))
    engine.close()


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


class _Handler(BaseHTTPRequestHandler):
    """Takes what a tracer sends."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        limits = {"size_limit": 100, "size_limit_bytes": 10_000_000, "scale_up_nthreads_limit": 2}
        limits |= {"scale_up_qsize_trigger": 1000, "use_multipart_endpoint": False}
        self._reply(json.dumps({"version": "1", "batch_ingest_config": limits}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.taken.append(body)  # type: ignore[attr-defined]
        self._reply(b"{}")

    do_PATCH = do_POST

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def tracer() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.taken = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_langsmith_hears_of_a_run_only_where_its_variables_are_set(tmp_path: Path) -> None:
    """A process asks without the one that says so, and then with it."""
    before = "How many people were hired?"
    with serving() as model, tracer() as listener:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("LANG", "CRAG_"))},
            "PYTHONPATH": str(ROOT),
            "CRAG_DATA": str(tmp_path),
            "CRAG_LLM": "openai-compatible",
            "CRAG_LLM_BASE_URL": model.address,
            "CRAG_LLM_MODEL": "ok",
            "CRAG_LLM_KEY": KEY,
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{listener.server_port}",
            "LANGSMITH_API_KEY": "lsv2-test",
        }
        program = PROGRAM.format(here=str(ROOT), before=before, question=QUESTION)
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.returncode == 0, ran.stderr
        taken = b"".join(listener.taken)  # type: ignore[attr-defined]
    assert before.encode() not in taken
    assert QUESTION.encode() in taken and b"ChatOpenAI" in taken
    assert KEY.encode() not in taken
    assert KEY not in ran.stdout + ran.stderr
