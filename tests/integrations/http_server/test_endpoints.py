"""What the simple endpoints answer."""

import pytest
from starlette.testclient import TestClient

from crag.admin.access import Access
from crag.core.strategies import STRATEGIES
from crag.engine import Engine
from crag.integrations.http.app import app
from tests.support.http_server import OTHER, TOKEN
from tests.support.small_library import TEXTS, spread

pytestmark = pytest.mark.usefixtures("read_here")

AS_BETA = {"Authorization": f"Bearer {OTHER}"}


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_rerank_gives_the_evaluators_scores_best_first(client: TestClient, path: str) -> None:
    documents = [*TEXTS, {"text": TEXTS[0], "title": "not read"}]
    reply = client.post(path, json={"query": "hiring", "documents": documents, "priority": 3}).json()
    scores = [*map(spread, TEXTS), spread(TEXTS[0])]
    assert [each["relevance_score"] for each in reply["results"]] == sorted(scores, reverse=True)
    places = [each["index"] for each in reply["results"]]
    assert [scores[place] for place in places] == sorted(scores, reverse=True)
    assert places.index(0) < places.index(4), "texts of one score stand as they were sent"
    assert "document" not in reply["results"][0] and reply["usage"] == {"total_tokens": 0}


def test_search_finds_chunks_of_the_tokens_own_workspace(client: TestClient) -> None:
    found = client.post("/v1/search", json={"query": "retirement claims", "k": 2}).json()["data"]
    assert [each["rank"] for each in found] == [1, 2] and found[0]["text"] == TEXTS[1]
    none = client.post("/v1/search", json={"query": "retirement claims", "where": {"confidence": {"<": 0.5}}})
    assert none.status_code == 400 and "meets the filter" in none.json()["error"]["message"]
    empty = client.post("/v1/search", json={"query": "retirement claims"}, headers=AS_BETA)
    assert empty.status_code == 422 and empty.json()["error"]["code"] == "empty_library"
    assert "POST /v1/documents" in empty.json()["error"]["message"] and "Documents page" not in empty.text


def test_documents_are_added_listed_told_of_and_deleted(client: TestClient) -> None:
    note = b"# Berlin\n\nBerlin is the capital of Germany, and has been for some time."
    files = [("file", ("../../note.md", note)), ("file", ("bad.pdf", b"%PDF-1.4 cut")), ("file", ("again.md", note))]
    made = client.post("/v1/documents", files=files, data={"confidence": "0.5"}, headers=AS_BETA)
    assert made.status_code == 200
    assert [(each["name"], each["outcome"]) for each in made.json()["data"]] == [
        ("note.md", "added"),
        ("bad.pdf", "failed"),
        ("again.md", "duplicate"),
    ]
    added, failed, _ = made.json()["data"]
    assert added["document"]["confidence"] == 0.5 and "damaged" in failed["error"]["message"]

    text = client.post("/v1/documents", files={"file": ("b.txt", "Paris lies on the Seine.")}, headers=AS_BETA)
    assert text.json()["data"][0]["outcome"] == "added"
    bad = client.post("/v1/documents", files={"file": ("c.txt", "  ")}, headers=AS_BETA)
    assert bad.status_code == 422 and bad.json()["data"][0]["outcome"] == "failed"
    assert bad.json()["error"]["message"] == bad.json()["data"][0]["error"]["message"]

    first = client.get("/v1/documents", params={"limit": 1}, headers=AS_BETA).json()
    id = first["data"][0]["id"]
    assert (first["total"], first["has_more"], id) == (2, True, added["document"]["id"])
    rest = client.get("/v1/documents", params={"after": id}, headers=AS_BETA).json()
    assert not rest["has_more"] and [each["name"] for each in rest["data"]] == ["b.txt"]
    assert client.get(f"/v1/documents/{id}", headers=AS_BETA).json() == added["document"]

    assert client.get(f"/v1/documents/{id}").status_code == 404, "it is not in the other workspace"
    assert client.delete(f"/v1/documents/{id}").status_code == 404
    assert client.delete(f"/v1/documents/{id}", headers=AS_BETA).json()["deleted"] is True
    assert client.delete(f"/v1/documents/{id}", headers=AS_BETA).status_code == 404
    assert client.get("/v1/documents").json()["data"][0]["name"] == "report.pdf"


def test_it_says_that_it_lives_and_is_ready_without_a_token(client: TestClient) -> None:
    anybody = {"Authorization": ""}
    assert client.get("/healthz", headers=anybody).json() == {"status": "ok"}
    client.app.state.serving.ready.wait(30)  # type: ignore[attr-defined]
    assert client.get("/readyz", headers=anybody).json() == {"status": "ready"}


def test_metrics_are_read_by_the_token_and_counted_by_the_run(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        TestClient(app(engine, Access(workspace="alpha")), base_url="http://localhost").get("/metrics").status_code
        == 404
    )
    monkeypatch.setenv("CRAG_METRICS_TOKEN", "the scraper's own token")
    monkeypatch.setattr(engine, "config", engine.config.changed(metrics="token"))
    bearer = {"Authorization": "Bearer the scraper's own token"}
    with TestClient(app(engine, Access([(TOKEN, "alpha")]))) as alone:
        alone.app.state.serving.ready.wait(30)  # type: ignore[attr-defined]
        asked = alone.post("/v1/ask", json={"question": "Who is hired?"}, headers={"Authorization": f"Bearer {TOKEN}"})
        assert asked.status_code == 200
        found = alone.get("/metrics", headers=bearer)
        assert 'strategy="balanced",via="http"} 1.0' in found.text and "crag_ready 1.0" in found.text
        stranger = alone.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert stranger.status_code == 401 and "crag_" not in stranger.text, "the token of a library is no scraper's"
        (last,) = engine.teams.audit.entries(1, act="scrape")
        assert (last.act, last.refused, last.who) == ("scrape", True, "visitor")
        alone.app.state.serving.work.close()  # type: ignore[attr-defined]
        ending = alone.get("/readyz")
        assert ending.status_code == 503 and ending.json() == {"status": "ending", "lacking": ["closing"]}
        assert alone.get("/healthz").json() == {"status": "ok"}


def test_models_are_a_chat_model_a_strategy_and_one_to_rerank(client: TestClient) -> None:
    found = {each["id"]: each["kind"] for each in client.get("/v1/models").json()["data"]}
    chats = {"crag", *(f"crag-{name}" for name in STRATEGIES)}
    assert found == {**dict.fromkeys(chats, "chat"), "crag-rerank": "rerank"}
    assert client.get("/v1/models/crag").json()["object"] == "model"
    assert client.get("/v1/models/gpt-5").status_code == 404


def test_a_text_that_cant_be_graded_fails_the_request_and_passes_for_nothing(client: TestClient) -> None:
    reply = client.post("/v1/rerank", json={"query": "?", "documents": ["fine", "ungradable", "ungradable too"]})
    assert reply.status_code == 502 and reply.json()["error"]["code"] == "grade_failed"
    assert "2 of 3 texts" in reply.json()["error"]["message"] and "index 1" in reply.json()["error"]["message"]


def test_a_saved_configuration_is_asked_by_its_name_in_its_workspace_alone(client: TestClient, engine: Engine) -> None:
    saved = engine.library("alpha").configurations
    saved.save("Strict", "paper", STRATEGIES["paper"].settings.changed(upper=0.95))
    asked = {"question": "How long did hiring take in 2019?", "strategy": "Strict"}
    whole = client.post("/v1/ask", json=asked).json()
    settings = engine.library("alpha").runs.trace(whole["run_id"]).settings
    assert (whole["strategy"], settings["upper"]) == ("paper", 0.95)
    other = client.post("/v1/ask", json=asked, headers=AS_BETA).json()["error"]
    assert other["code"] == "unknown_strategy"
    saved.delete("Strict")
