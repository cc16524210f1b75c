"""The description for programs is valid and complete, and says what is checked."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.testclient import TestClient

from crag.integrations.http.ask import format_sse, with_heartbeat
from tests.support.http_server import FREE, GUARDED


def described(client: TestClient) -> dict[str, Any]:
    return dict(client.get("/openapi.json", headers={"Authorization": ""}).json())


def test_the_description_is_valid_and_complete(client: TestClient) -> None:
    found = described(client)
    OpenAPIV31SpecValidator(found).validate()
    told = {(method.upper(), path) for path, each in found["paths"].items() for method in each}
    assert told == (FREE | GUARDED) - {("GET", "/openapi.json")}
    guarded = {
        (method.upper(), path)
        for path, each in found["paths"].items()
        for method, made in each.items()
        if made.get("security") == [{"token": []}]
    }
    assert guarded == GUARDED
    names = re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(found))
    assert {*names} <= {*found["components"]["schemas"]}


def test_replies_and_refusals_are_as_described(client: TestClient) -> None:
    found = described(client)

    def check(name: str, given: Any) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": found["components"]}
        Draft202012Validator(schema).validate(given)

    asked = {"model": "crag", "messages": [{"role": "user", "content": "How long does hiring take?"}]}
    check("ChatRequest", asked)
    check("ChatCompletion", client.post("/v1/chat/completions", json=asked).json())
    streamed = client.post("/v1/chat/completions", json={**asked, "stream": True}).text
    for each in re.findall(r"^data: (\{.*)$", streamed, re.MULTILINE):
        check("ChatChunk", json.loads(each))
    check("ProblemReply", client.post("/v1/chat/completions", json={**asked, "model": "x"}).json())
    properties = found["components"]["schemas"]["AskRequest"]
    assert properties["additionalProperties"] is False
    assert properties["properties"]["wanted"]["enum"] == ["answer", "evidence"]


# Server-sent events: what one looks like, and that a stream in which nothing happens shows that it lives


def test_an_event_is_one_line_of_data_whatever_it_holds() -> None:
    said = format_sse({"text": "a\nb\r\u2028\x85\ndata: [DONE]\n\n"}, "token", 3)
    head, _, data = said.partition("data: ")
    assert head == "event: token\nid: 3\n"
    assert len(data.splitlines()) == 2 and data.endswith("\n\n")
    assert json.loads(data)["text"].startswith("a\nb\r\u2028")


@pytest.mark.anyio
async def test_a_stream_that_waits_beats_and_leaves_nothing_running() -> None:
    go, closed = asyncio.Event(), asyncio.Event()

    async def items() -> AsyncIterator[int]:
        try:
            yield 1
            await go.wait()
            yield 2
            raise ValueError("so it ends")
        finally:
            closed.set()

    found: list[int | None] = []
    with pytest.raises(ValueError, match="so it ends"):
        async for each in with_heartbeat(items(), 0.001):
            found.append(each)
            if found.count(None) == 2:
                go.set()
    assert [each for each in found if each] == [1, 2]
    assert found.count(None) >= 2

    go.clear()
    closed.clear()
    waiting = with_heartbeat(items(), 0.001)
    assert [await anext(waiting), await anext(waiting)] == [1, None]
    await waiting.aclose()  # type: ignore[attr-defined]
    await asyncio.wait_for(closed.wait(), 60)
