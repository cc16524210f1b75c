"""POST /v1/ask and stored runs: the whole run or its events, and nothing of another workspace."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.chat_server import ChatServer

ASKED = "How long did the agency take for hiring?"
Told = tuple[str, int, dict[str, Any]]


@pytest.fixture(scope="module")
def client(served: ChatServer) -> Iterator[httpx.Client]:
    with served.client() as made:
        yield made


def ask(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = client.post("/v1/ask", json={"question": ASKED, **body})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def events(text: str) -> list[Told]:
    """Kind, number and data of each event of a stream."""
    found = []
    for each in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in each.split("\n") if not line.startswith(":") and line)
        if fields:
            found.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
    return found


def test_events_come_by_their_numbers_and_the_whole_run_last(client: httpx.Client) -> None:
    reply = client.post("/v1/ask", json={"question": ASKED, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    found = events(reply.text)
    kinds = [kind for kind, _, _ in found]
    assert kinds[0] == "run_started"
    assert kinds[-2:] == ["run_finished", "trace"]
    assert {"retrieved", "graded", "action_taken", "refined", "answered", "verified"} <= {*kinds}
    assert [number for _, number, _ in found] == [*range(1, len(found) + 1)]
    assert all(data["kind"] == kind for kind, _, data in found)
    whole = found[-1][2]
    assert whole == client.get(f"/v1/runs/{whole['run_id']}").json()


def test_a_question_follows_on_a_run_and_is_asked_of_some_documents_alone(
    served: ChatServer, client: httpx.Client
) -> None:
    first = ask(client, question="How many people did the agency hire in 2019?")
    then = ask(client, question="And in 2018?", after=first["run_id"])
    assert then["asked_as"] == "And in 2018? (How many people did the agency hire?)"
    assert then["after"] == first["run_id"]
    only = ask(client, documents=["report.pdf"], where={"pages": {">": 1}})
    assert only["asked_of"]["documents"] == ["report.pdf"]
    assert only["settings"]["where"]["pages"] == {">": 1}
    assert served.engine.library("alpha").runs.trace(only["run_id"]).via == "http"


def test_a_failure_is_an_event_of_the_run_where_it_is_streamed_and_else_an_error(client: httpx.Client) -> None:
    asked = {"question": "what breaks at the agency"}
    *_, failed, finished, (kind, _, whole) = events(client.post("/v1/ask", json={**asked, "stream": True}).text)
    assert (failed[0], failed[2]["fatal"], finished[0], kind) == ("failed", True, "run_finished", "trace")
    assert "cut off" in whole["error"]
    reply = client.post("/v1/ask", json=asked)
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "provider_failed")


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ({"question": " "}, 400, "invalid_question", "question"),
        ({"question": 7}, 422, "invalid_field", "question"),
        ({"strategy": "best"}, 400, "unknown_strategy", "strategy"),
        ({"settings": {"lower": 0.9}}, 400, "invalid_setting", "settings"),
        ({"where": {"verified": {"$eq": True}}}, 400, "invalid_setting", "settings"),
        ({"where": "verified"}, 422, "invalid_field", "where"),
        ({"where": {"color": "red"}}, 400, "invalid_input", None),
        ({"workspace": "beta"}, 422, "invalid_field", "workspace"),
        ({"after": "no such run"}, 404, "not_found", "after"),
        ({"documents": ["report.pdf", "../../etc"]}, 404, "not_found", "documents.1"),
    ],
)
def test_bad_input_is_told_by_the_name_of_its_field(
    client: httpx.Client, body: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    for stream in (False, True):
        reply = client.post("/v1/ask", json={"question": ASKED, "stream": stream, **body})
        error = reply.json()["error"]
        assert (reply.status_code, error["code"], error["param"]) == (status, code, param), reply.text
