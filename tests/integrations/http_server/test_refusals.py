"""What is refused: always in the error form, with a status that says why, and nothing of what is not the caller's."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from crag.admin.access import Access
from crag.core.config import AppConfig
from crag.core.errors import StorageError, UnreachableError
from crag.engine import Engine
from crag.integrations.http.app import app
from crag.integrations.http.serving import Limits
from crag.testing.fakes import ScriptedEvaluator
from tests.support.http_server import GUARDED, OTHER, TOKEN
from tests.support.small_library import WordEmbedder, fill, spread

JSON = {"Content-Type": "application/json"}
RERANK: dict[str, Any] = {"query": "q", "documents": ["a"]}


def error_of(reply: Any) -> dict[str, Any]:
    """What a refusal says, in the form that all have."""
    assert set(reply.json()["error"]) == {"message", "type", "code", "param"}
    assert "Traceback" not in reply.text
    error: dict[str, Any] = reply.json()["error"]
    return error


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "invalid_json"),
        (b"{", 400, "invalid_json"),
        (b"[" * 50_000, 400, "invalid_json"),
        (b'{"query": "\\ud800", "documents": ["a"]}', 400, "invalid_json"),
        (b'{"query": "\xff", "documents": ["a"]}', 400, "invalid_json"),
        (b'{"query": "q", "documents": ["a"], "top_n": ' + b"9" * 9_000 + b"}", 400, "invalid_json"),
        (b"[]", 422, "invalid_field"),
        (b"null", 422, "invalid_field"),
        (b'{"query": "", "documents": ["a"]}', 422, "invalid_field"),
        (b" " * 100_001, 413, "too_large"),
    ],
)
def test_a_body_that_cant_be_read(client: TestClient, content: bytes, status: int, code: str) -> None:
    reply = client.post("/v1/rerank", content=content, headers=JSON)
    assert (reply.status_code, error_of(reply)["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "change", "param"),
    [
        ("/v1/rerank", {"documents": "a"}, "documents"),
        ("/v1/rerank", {"documents": [1]}, "documents"),
        ("/v1/rerank", {"documents": [{"txt": "a"}]}, "documents"),
        ("/v1/rerank", {"documents": ["a"] * 1_001}, "documents"),
        ("/v1/rerank", {"query": "q" * 2_001}, "query"),
        ("/v1/rerank", {"top_n": 0}, "top_n"),
        ("/v1/search", {"k": 1e9}, "k"),
    ],
)
def test_a_field_that_cant_be_used_is_named(client: TestClient, path: str, change: dict[str, Any], param: str) -> None:
    reply = client.post(path, json={**RERANK, **change})
    assert reply.status_code == 422
    error = error_of(reply)
    assert error["code"] == "invalid_field" and error["param"] == param
    assert len(reply.content) < 600, "what was sent is not sent back"


def test_other_requests_that_cant_be_answered(client: TestClient) -> None:
    for status, reply in [
        (415, client.post("/v1/rerank", content=b"{}")),
        (415, client.post("/v1/rerank", content=b"{}", headers={**JSON, "Content-Encoding": "gzip"})),
        (404, client.post("/v1/rerank", json={**RERANK, "model": "rerank-v3.5"})),
        (400, client.post("/v1/search", json={"query": "a", "where": {"name": {"~": 3}}})),
        (400, client.post("/v1/search", json={"query": "  "})),
        (415, client.post("/v1/documents", content=b"%PDF-1.4", headers={"Content-Type": "application/pdf"})),
        (404, client.get("/v1/nothing")),
        (404, client.get("/v1/documents/", follow_redirects=False)),
        (405, client.get("/v1/rerank")),
        (405, client.options("/v1/rerank", headers={"Origin": "https://evil.example"})),
        (400, client.get("/v1/documents?limit=0")),
        (400, client.get("/v1/documents?limit=%C2%B2")),
        (400, client.get("/v1/documents?after=nothing")),
        (400, client.post("/v1/documents", content=b"x", headers={"Content-Type": "multipart/form-data"})),
        (400, client.post("/v1/documents", content=b"x", headers={"Content-Type": "multipart/form-data; boundary=b"})),
        (422, client.post("/v1/documents", files={"file": ("a.txt", b"a")}, data={"confidence": "2"})),
        (422, client.post("/v1/documents", files={"other": ("a.txt", b"a")})),
        (415, client.post("/v1/documents", json={"name": "a.txt", "text": "a"})),
        (413, client.post("/v1/documents", files={"file": ("big.txt", b"a" * 200_001)})),
    ]:
        assert reply.status_code == status, reply.text
        error_of(reply)
    for id in ("..%2f..%2fetc%2fpasswd", "%00", "a%00b", "%F0%9F", "x" * 5_000, "..", "%ff"):
        reply = client.get(f"/v1/documents/{id}")
        assert reply.status_code == 404, id
        error_of(reply)


def test_without_a_valid_token_nothing_is_answered(client: TestClient) -> None:
    for given in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN},{OTHER}"):
        for method, path in GUARDED:
            reply = client.request(method, path, headers={"Authorization": given})
            assert reply.status_code == 401 and reply.headers["WWW-Authenticate"] == "Bearer"
            assert error_of(reply)["type"] == "authentication_error"
    assert client.get(f"/v1/models?token={TOKEN}", headers={"Authorization": ""}).status_code == 401


def test_without_tokens_only_this_machines_own_pages_are_answered(engine: Engine) -> None:
    with TestClient(app(engine, Access(workspace="alpha")), base_url="http://127.0.0.1:8000") as alone:
        assert alone.get("/v1/documents", headers={"Authorization": "Bearer any"}).json()["total"] >= 1
        assert alone.get("/v1/documents", headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            for path in ("/v1/documents", "/healthz"):
                reply = alone.get(path, headers=headers)
                assert reply.status_code == 403 and error_of(reply)["code"] == "foreign"


def test_errors_of_the_engine_keep_their_places_to_themselves(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    raised = iter([StorageError("/srv/data is full."), ValueError("at /srv"), UnreachableError("is gone.")])

    def fail(*_: object) -> None:
        raise next(raised)

    made = app(engine, Access(workspace="alpha"))
    with TestClient(made, base_url="http://localhost", raise_server_exceptions=False) as alone:
        made.state.serving.ready.wait(30)
        monkeypatch.setattr(engine, "grade", fail)
        with caplog.at_level(logging.ERROR, "crag.integrations.http"):
            for status, code in ((500, "failed"), (500, "failed"), (502, "provider_failed")):
                reply = alone.post("/v1/rerank", json=RERANK)
                assert (reply.status_code, error_of(reply)["code"]) == (status, code)
                assert "/srv" not in reply.text and "Settings" not in reply.text
    assert "/srv/data is full" in caplog.text


def test_no_token_and_nothing_that_was_asked_stands_in_the_log(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "crag.integrations.http"):
        client.post("/v1/search?secret-query", json={"query": "secret question"})
        client.get("/secret-path", headers={"Authorization": "Bearer secret-token"})
    assert "POST /v1/search 200" in caplog.text and "token 1" in caplog.text and "GET - 404" in caplog.text
    assert "secret" not in caplog.text and TOKEN not in caplog.text


def test_every_reply_tells_browsers_to_keep_off(client: TestClient) -> None:
    for reply in (client.get("/v1/models"), client.get("/nothing"), client.get("/v1/models", headers={"Origin": "x"})):
        assert reply.headers["X-Content-Type-Options"] == "nosniff" and reply.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in reply.headers["Content-Security-Policy"]
        assert not [name for name in reply.headers if name.startswith("access-control")]


def test_one_request_too_many_is_told_when_to_come_again(engine: Engine) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    made = app(engine, Access([(TOKEN, "alpha"), (OTHER, "beta")]), Limits(rate=2))
    with TestClient(made, headers=headers) as client:
        assert [client.get("/v1/models").status_code for _ in range(3)] == [200, 200, 429]
        reply = client.get("/v1/models")
        assert error_of(reply)["type"] == "rate_limit_error" and 1 <= int(reply.headers["Retry-After"]) <= 30
        assert client.get("/v1/models", headers={"Authorization": f"Bearer {OTHER}"}).status_code == 200
        assert client.get("/healthz").status_code == 200


def test_what_can_be_read_can_be_asked_for_its_head(client: TestClient) -> None:
    for path in ("/healthz", "/v1/models", "/v1/documents"):
        assert client.head(path).status_code == 200, path
    assert client.head("/v1/models", headers={"Authorization": ""}).status_code == 401
    assert client.head("/v1/rerank").status_code == 405


# The limits over HTTP: 429 with when to come back, or 507 where there is no room, in the error form


ASK = {"question": "How long did hiring take in 2019?"}


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[TestClient]:
    config = AppConfig.of(data=tmp_path, all_questions_minute=1, all_mb=10)
    with Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread)) as engine:
        for workspace in ("alpha", "beta"):
            fill(engine, workspace=workspace)
        with TestClient(app(engine, Access([(TOKEN, "alpha"), (OTHER, "beta")]))) as opened:
            opened.headers["Authorization"] = f"Bearer {TOKEN}"
            yield opened


def test_a_question_too_many_is_429_with_when_in_both_forms_for_all_workspaces(limited: TestClient) -> None:
    assert limited.post("/v1/ask", json=ASK).status_code == 200
    chat = {"model": "crag-balanced", "messages": [{"role": "user", "content": ASK["question"]}]}
    other = {"Authorization": f"Bearer {OTHER}"}
    asked = [("/v1/ask", ASK), ("/v1/ask", {**ASK, "stream": True}), ("/v1/chat/completions", chat)]
    for path, body, headers in [*((*each, {}) for each in asked), ("/v1/ask", ASK, other)]:
        reply = limited.post(path, json=body, headers=headers)
        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (429, "limit_reached"), error
        assert error["type"] == "rate_limit_error" and "Only 1 question a minute" in error["message"]
        assert 0 < int(reply.headers["retry-after"]) <= 60


def test_a_document_without_room_is_507(limited: TestClient, tmp_path: Path) -> None:
    # Into the asked library, which is counted before each addition; the others are counted every two seconds.
    (tmp_path / "workspaces" / "alpha" / "filler").write_bytes(bytes(12_000_000))
    refused = limited.post("/v1/documents", files={"file": ("tides.txt", "The tides of the sea.")})
    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "no_room")
    assert "may hold 10 MB, and have" in refused.json()["data"][0]["error"]["message"]
