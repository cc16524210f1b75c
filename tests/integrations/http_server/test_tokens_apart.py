"""Words planted in one workspace and looked for with the token of another, at every address of a real server."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.http_server import FREE, GUARDED, OTHER, TOKEN, http_server

pytestmark = pytest.mark.usefixtures("read_here")

WORD = "zanzibarine"
QUESTION = "How long did the agency take for hiring?"


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Of the workspace that says the word everywhere, and of the other."""
    with http_server(tmp_path_factory.mktemp("apart"), "--rate", "0") as server:
        made = [
            httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)
            for token in (TOKEN, OTHER)
        ]
        yield made[0], made[1]
        for each in made:
            each.close()


def added(client: httpx.Client, word: str) -> str:
    text = f"The {word} agency hired four hundred people. Hiring took the {word} agency eighty days."
    [found] = client.post("/v1/documents", files={"file": (f"{word}.txt", text)}).json()["data"]
    return str(found["document"]["id"])


def test_with_the_token_of_another_nothing_of_a_workspace_is_read_or_changed(
    clients: tuple[httpx.Client, httpx.Client],
) -> None:
    own, other = clients
    document, foreign = added(own, WORD), added(other, "rostock")
    run = own.post("/v1/ask", json={"question": f"{QUESTION} asks {WORD}"}).json()["run_id"]
    theirs = other.post("/v1/ask", json={"question": QUESTION}).json()["run_id"]
    tried: dict[str, list[httpx.Response]] = {
        "GET /v1/documents": [other.get("/v1/documents"), other.get("/v1/documents", params={"after": document})],
        "GET /v1/documents/{id}": [other.get(f"/v1/documents/{document}")],
        "DELETE /v1/documents/{id}": [other.delete(f"/v1/documents/{document}")],
        "GET /v1/runs/{id}": [
            other.get(f"/v1/runs/{run}"),
            other.get(f"/v1/runs/{run}", params={"workspace": "alpha"}),
        ],
        "POST /v1/ask": [
            other.post("/v1/ask", json={"question": QUESTION, **more})
            for more in (
                {},
                {"documents": [document]},
                {"after": run},
                {"where": {"id": document}},
                {"stream": True},
            )
        ],
        "POST /v1/search": [
            other.post("/v1/search", json={"query": QUESTION, "k": 100, "mode": mode, **more})
            for mode in ("hybrid", "dense", "bm25")
            for more in ({}, {"where": {"id": document}}, {"where": {"name": {"!=": "rostock.txt"}}})
        ],
        "POST /v1/chat/completions": [
            other.post(
                "/v1/chat/completions",
                json={"model": "crag", "messages": [{"role": "user", "content": QUESTION}], "stream": stream},
            )
            for stream in (False, True)
        ],
        "GET /v1/models": [other.get("/v1/models")],
        "GET /v1/models/{id}": [other.get("/v1/models/crag"), other.get(f"/v1/models/{document}")],
        **{f"GET {path}": [other.get(path)] for path in ("/openapi.json", "/metrics", "/healthz", "/readyz")},
        "POST /v1/documents": [other.post("/v1/documents", files={"file": ("x.txt", "Pilots led the ships.")})],
        **{
            f"POST {path}": [other.post(path, json={"query": QUESTION, "documents": ["a"]})]
            for path in ("/v1/rerank", "/v2/rerank", "/rerank")
        },
    }
    assert set(tried) == {f"{method} {path}" for method, path in FREE | GUARDED}, (
        "whoever adds an address tries it here"
    )
    for what, replies in tried.items():
        for reply in replies:
            assert WORD not in reply.text.lower() and WORD not in str(reply.headers), what
            assert reply.status_code < 500, what
    for what in (
        "GET /v1/documents/{id}",
        "DELETE /v1/documents/{id}",
        "GET /v1/runs/{id}",
    ):
        assert {reply.status_code for reply in tried[what]} == {404}, what
    none = "0" * len(document)
    refused, unknown = tried["GET /v1/documents/{id}"][0], other.get(f"/v1/documents/{none}")
    assert refused.text.replace(document[:12], none[:12]) == unknown.text, "it is as if there were none"
    assert own.get(f"/v1/documents/{document}").json()["name"] == f"{WORD}.txt", "and it is still there"
    assert WORD in own.get(f"/v1/runs/{run}").text and WORD in own.post("/v1/search", json={"query": WORD}).text
    assert own.get(f"/v1/runs/{theirs}").status_code == 404
    assert other.get(f"/v1/documents/{foreign}").status_code == 200
