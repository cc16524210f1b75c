"""A workspace's limits over HTTP: 429 with when to come back, or 507 where there is no room, in the error form."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from crag.admin.access import Access
from crag.core.config import AppConfig
from crag.engine import Engine
from crag.integrations.http.app import app
from crag.testing.fakes import ScriptedEvaluator
from tests.support.http_server import OTHER, TOKEN
from tests.support.small_library import WordEmbedder, fill, spread

ASK = {"question": "How long did hiring take in 2019?"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    config = AppConfig.of(data=tmp_path, library_questions_minute=1, library_files_hour=1, library_documents=2)
    engine = Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))
    now = datetime(2026, 11, 23, 18, 30, 15, tzinfo=UTC)
    engine.teams.quotas.usage.now = lambda: now
    for workspace in ("alpha", "beta"):
        fill(engine, workspace=workspace)
    with TestClient(app(engine, Access([(TOKEN, "alpha"), (OTHER, "beta")]))) as opened:
        opened.headers["Authorization"] = f"Bearer {TOKEN}"
        yield opened
    engine.close()


def text(name: str) -> dict[str, Any]:
    return {"name": name, "text": f"The file {name} tells of the tides of the sea."}


def test_a_question_too_many_is_429_with_when_in_both_forms_and_another_workspace_asks_on(client: TestClient) -> None:
    assert client.post("/v1/ask", json=ASK).status_code == 200
    chat = {"model": "crag-balanced", "messages": [{"role": "user", "content": ASK["question"]}]}
    for path, body in (("/v1/ask", ASK), ("/v1/ask", {**ASK, "stream": True}), ("/v1/chat/completions", chat)):
        reply = client.post(path, json=body)
        error = reply.json()["error"]
        assert (reply.status_code, error["code"], reply.headers.get("retry-after")) == (429, "limit_reached", "45"), (
            error
        )
        assert error["type"] == "rate_limit_error" and "1 question a minute" in error["message"]
    assert client.post("/v1/ask", json=ASK, headers={"Authorization": f"Bearer {OTHER}"}).status_code == 200


def test_files_too_many_are_429_and_where_there_is_no_room_507(client: TestClient) -> None:
    assert client.post("/v1/documents", json=text("one")).status_code == 200
    full = client.post("/v1/documents", json=text("two"))
    assert (full.status_code, full.json()["error"]["code"]) == (507, "no_room")
    assert "may hold 2 documents, and has 2" in full.json()["data"][0]["error"]["message"]
    first = client.get("/v1/documents").json()["data"][0]["id"]
    assert client.delete(f"/v1/documents/{first}").status_code == 200
    late = client.post("/v1/documents", json=text("two"))
    assert (late.status_code, late.json()["error"]["code"], late.headers["retry-after"]) == (
        429,
        "limit_reached",
        "1785",
    )
