"""What the tokens of one server share over HTTP: places for sessions, and no session."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

pytest.importorskip("mcp", reason="pip install -r requirements/mcp.txt")

from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from crag.admin.access import Access, Arrivals
from crag.engine import Engine
from crag.integrations.mcp import server
from crag.integrations.mcp.request import ServerConfig
from crag.integrations.mcp.server import Gate, LibraryServer, app
from crag.runtime.slow_clients import drop_when_unread
from tests.integrations.mcp_server.conftest import START

ALICE, BOB = "a-token-of-alice-0001", "a-token-of-bob-00002"
ACCESS = Access([(ALICE, "default"), (BOB, "other")])
MODERN = [(b"mcp-protocol-version", b"2026-07-28")]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads the body, then answers."""
    while (await receive()).get("more_body"):
        pass
    await Response("read")(scope, receive, send)


@pytest.mark.anyio
async def test_a_reply_that_is_never_read_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "drop_when_unread", partial(drop_when_unread, seconds=0.01))
    front = Gate(reading, ACCESS, Arrivals(lambda *_, **__: None))
    headers = [(b"authorization", f"Bearer {ALICE}".encode()), *MODERN]

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Message) -> None:
        await asyncio.Event().wait()

    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers}
    await asyncio.wait_for(front(scope, receive, send), 60)


@pytest.fixture
def client(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Of a server with two tokens and four sessions."""
    monkeypatch.setattr(server, "SESSIONS", 4)
    with TestClient(app(LibraryServer(ServerConfig(engine=engine, workspace=None, tokens=2)), ACCESS)) as made:
        made.headers["accept"] = "application/json, text/event-stream"
        yield made


def sent(client: TestClient, message: dict[str, Any], token: str, session: str = "") -> Any:
    headers = {"authorization": f"Bearer {token}", **({"mcp-session-id": session} if session else {})}
    return client.post("/mcp", json=message, headers=headers)


def opened(client: TestClient, token: str) -> str:
    began = sent(client, START, token)
    assert began.status_code == 200, began.text
    return str(began.headers["mcp-session-id"])


def test_sessions_are_counted_and_each_is_known_to_its_own_token_alone(client: TestClient) -> None:
    hers, his = [opened(client, ALICE) for _ in range(3)], opened(client, BOB)
    refused = sent(client, START, ALICE)
    assert refused.status_code == 503 and "sessions" in refused.json()["error"]["message"]
    assert [sent(client, LIST, ALICE, each).status_code for each in hers] == [200] * 3
    assert sent(client, LIST, BOB, his).status_code == 200
    assert sent(client, LIST, BOB, hers[0]).status_code == sent(client, LIST, ALICE, his).status_code == 404


def test_sessions_that_ended_and_requests_that_open_none_take_no_place(client: TestClient) -> None:
    for _ in range(6):
        assert sent(client, LIST, ALICE).status_code == 400, "it is no request that opens a session"
    kept = opened(client, ALICE)
    for _ in range(6):
        headers = {"authorization": f"Bearer {ALICE}", "mcp-session-id": opened(client, ALICE)}
        assert client.delete("/mcp", headers=headers).status_code == 200
    assert sent(client, LIST, ALICE, kept).status_code == 200
