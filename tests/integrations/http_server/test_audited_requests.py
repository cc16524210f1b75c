"""The audit log of `crag serve`: a real process, asked over loopback, and what its log has afterwards."""

from pathlib import Path

import httpx
import pytest

from tests.support.audited import acts, audited, stored
from tests.support.http_server import FREE, GUARDED, OTHER, TOKEN, http_server
from tests.support.model_server import KEY, serving

ALPHA, BETA = ({"Authorization": f"Bearer {token}"} for token in (TOKEN, OTHER))
SECRET = "the harbour was never deep enough"


@pytest.mark.slow
def test_deletions_tokens_and_refusals_are_noted_and_nothing_that_was_asked(tmp_path: Path) -> None:
    with http_server(tmp_path) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        given = {"file": ("harbour.txt", f"In 2019 {SECRET}. Ships were led there by pilots all the same.")}
        for _ in range(3):
            assert client.get("/v1/documents").status_code == 401
            assert client.get("/v1/documents", headers={"Authorization": "Bearer guessed-token"}).status_code == 401
        assert not acts(tmp_path, "delete", "key") and len(audited(tmp_path)) == 6
        [added] = client.post("/v1/documents", files=given, headers=ALPHA).json()["data"]
        id = added["document"]["id"]
        assert client.post("/v1/ask", json={"question": f"Why was it that {SECRET}?"}, headers=ALPHA).status_code == 200
        assert client.delete(f"/v1/documents/{id}", headers=BETA).status_code == 404
        assert not acts(tmp_path, "delete")
        assert client.delete(f"/v1/documents/{id}", headers=ALPHA).status_code == 200
        assert client.delete(f"/v1/documents/{id}", headers=ALPHA).status_code == 404
    assert acts(tmp_path, "delete") == [("token 1", "alpha", "document", "harbour.txt", False)]
    assert acts(tmp_path, "token") == [
        *[("visitor", "", "a request without a token that is known", "", True)] * 6,
        ("token 1", "alpha", "used first since the start", "", False),
        ("token 2", "beta", "used first since the start", "", False),
    ]
    assert not acts(tmp_path, "key"), "nothing left this machine"
    for secret in (TOKEN, OTHER, "guessed-token", SECRET):
        assert secret.encode() not in stored(tmp_path)


@pytest.mark.slow
def test_a_key_is_noted_once_for_each_token_that_it_is_sent_out_for(tmp_path: Path) -> None:
    with (
        serving() as model,
        http_server(
            tmp_path,
            CRAG_LLM="openai-compatible",
            CRAG_LLM_BASE_URL=model.address,
            CRAG_LLM_MODEL="ok",
            CRAG_EVALUATOR="llm",
            CRAG_LLM_KEY=KEY,
        ) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        assert client.get("/v1/models", headers=ALPHA).status_code == 200
        assert not acts(tmp_path, "key"), "it was not sent yet"
        for _ in range(2):
            graded = client.post("/v1/rerank", json={"query": "q", "documents": ["a", "b"]}, headers=ALPHA)
            assert graded.json()["results"][0]["relevance_score"] == 0.7
        client.post("/v1/documents", files={"file": ("hiring.txt", "Hiring took eighty days.")}, headers=BETA)
        assert len(acts(tmp_path, "key")) == 1
        for stream in (False, True):
            asked = {"question": "How long did hiring take?", "stream": stream}
            assert client.post("/v1/ask", json=asked, headers=BETA).status_code == 200
        whom = f"for 127.0.0.1:{model.server_port}"
        assert acts(tmp_path, "key") == [
            ("token 1", "alpha", "llm used", whom, False),
            ("token 2", "beta", "llm used", whom, False),
        ]
        assert KEY.encode() not in stored(tmp_path) and model.seen


def test_documents_are_all_that_can_be_taken_away_and_no_setting_can_be_changed() -> None:
    """Whoever adds a way to delete or to change something has it noted, and says so here."""
    changing = {each for each in FREE | GUARDED if each[0] not in ("GET", "POST")}
    assert changing == {("DELETE", "/v1/documents/{id}")}
    posted = {path for method, path in FREE | GUARDED if method == "POST"}
    asked = {"/v1/chat/completions", "/v1/ask", "/v1/rerank", "/v2/rerank", "/rerank", "/v1/search"}
    assert posted == {*asked, "/v1/documents"}
