"""The server over HTTP: who may use it, what it refuses, and how it ends. One process for all, and the SDK's client."""

import asyncio
import json
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

pytest.importorskip("mcp", reason="pip install -r requirements/mcp.txt")

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from crag.core.config import AppConfig
from tests.integrations.mcp_server.conftest import START
from tests.support import local_models
from tests.support.audited import acts, stored
from tests.support.model_server import KEY, serving
from tests.support.shell import started

pytestmark = pytest.mark.slow

ALICE, BOB = "a-token-of-alice-0001", "a-token-of-bob-00002="
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Server:
    """`crag mcp --http` in a process of its own."""

    def __init__(self, data: Path, *more: str, **environment: str) -> None:
        command = ["crag", "mcp", "--http", "--port", "0", *more]
        self.process = started("-m", *command, stderr=subprocess.PIPE, CRAG_DATA=str(data), **environment)
        assert self.process.stderr
        found = re.search(r"http://\S+", line := self.process.stderr.readline())
        assert found, line
        self.url = found.group()


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Server]:
    made = Server(data, CRAG_TOKENS=f"{ALICE}=alice,{BOB}=bob")
    yield made
    made.process.kill()
    made.process.communicate()


@asynccontextmanager
async def client(server: Server, token: str, mode: str = "legacy") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as made,
    ):
        yield made


def posted(server: Server, body: bytes | Iterator[bytes], **headers: str) -> httpx.Response:
    with httpx.Client(timeout=30) as http:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return http.post(server.url, content=body, headers={**JSON, **named})


def error(response: httpx.Response) -> str:
    """The message of the protocol's error."""
    told = response.json()
    assert told["jsonrpc"] == "2.0" and "Traceback" not in response.text
    return str(told["error"]["message"])


def test_the_resources_of_one_token_are_none_of_another_s(server: Server) -> None:
    """The words of each workspace, looked for by the other at every kind of address, as a tool and as a resource."""
    words = {ALICE: ("lighthouse", "alexandria"), BOB: ("bob.txt", "apple", "garden")}

    async def read(of: Client, uri: str) -> str:
        try:
            return str(await of.read_resource(uri))
        except MCPError as error:
            return str(error)

    async def inside() -> None:
        async with client(server, ALICE) as alice, client(server, BOB) as bob:
            for own, token, other in ((alice, ALICE, bob), (bob, BOB, alice)):
                [document] = (await own.call_tool("documents", {})).structured_content["documents"]
                asked = await own.call_tool("ask", {"question": "What stands in the harbour or in the garden?"})
                addresses = [document["uri"], f"{document['uri']}/pages/1"]
                hers = [await read(own, uri) for uri in addresses]
                assert all(any(word in text.lower() for word in words[token]) for text in hers), "each is there"
                his = [await read(other, uri) for uri in addresses]
                run = asked.structured_content["run_id"]
                his.append(str(await other.call_tool("explain", {"run_id": run, "document": document["id"]})))
                his += [str(await other.list_resources()), str(await other.list_resource_templates())]
                for tool, word in (("ask", "question"), ("search", "query")):
                    named = {word: "What is there?", "documents": [document["id"]]}
                    refused = await other.call_tool(tool, named)
                    assert refused.is_error
                    his.append(str(refused))
                his.append(str(await other.call_tool("search", {"query": "lighthouse garden apple", "k": 20})))
                told = "\n".join(his).lower().replace("lighthouse garden apple", "")
                assert not [word for word in words[token] if word in told]

    asyncio.run(asyncio.wait_for(inside(), 90))


def test_what_has_no_token_or_comes_from_elsewhere_is_refused(server: Server) -> None:
    body, right = json.dumps(START).encode(), {"authorization": f"Bearer {ALICE}"}
    for wrong in ({}, {"authorization": f"Bearer {ALICE[:-1]}"}, {"authorization": f"Basic {ALICE}"}):
        refused = posted(server, body, **wrong)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "A valid token is needed" in error(refused) and "alice" not in refused.text
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://["):
        refused = posted(server, body, **right, origin=origin)
        assert refused.status_code == 403 and "other sites" in error(refused)
    host = server.url.split("/")[2]
    assert posted(server, body, **right, origin=f"http://{host}").status_code == 200


def test_tokens_keys_and_refusals_are_in_the_audit_log(data: Path, tmp_path: Path) -> None:
    log = shutil.ignore_patterns("teams.db*")  # other tests' server has begun one in this folder
    copied = shutil.copytree(data, tmp_path / "data", ignore=log)
    body, origin = json.dumps(START).encode(), "http://evil.example"
    with serving() as model:
        wired = {"CRAG_LLM": "openai-compatible", "CRAG_LLM_BASE_URL": model.address, "CRAG_LLM_MODEL": "ok"}
        tokens = {"CRAG_TOKENS": f"{ALICE}=alice,{BOB}=bob", "CRAG_LLM_KEY": KEY, "CRAG_EVALUATOR": "llm"}
        server = Server(copied, **wired, **tokens)
        try:
            for _ in range(3):
                assert posted(server, body).status_code == 401
                assert posted(server, body, authorization="Bearer guessed-token").status_code == 401
                assert posted(server, body, authorization=f"Bearer {ALICE}", origin=origin).status_code == 403

            async def inside() -> None:
                for token in (ALICE, ALICE, BOB):
                    async with client(server, token) as made:
                        assert {each.name for each in (await made.list_tools()).tools} == {
                            *("ask", "search", "grade", "documents", "explain", "add_document")
                        }, "whoever adds a tool that deletes or changes something has it noted"
                        assert not (await made.call_tool("documents", {})).is_error
                        graded = await made.call_tool("grade", {"question": "q", "texts": ["the swordfish vault"]})
                        assert graded.structured_content["grades"][0]["score"] == 0.7

            asyncio.run(asyncio.wait_for(inside(), 90))
        finally:
            server.process.kill()
            server.process.communicate()
    assert acts(copied, "token") == [
        *[("visitor", "", "a request without a token that is known", "", True)] * 6,
        ("token 1", "alice", "used first since the start", "", False),
        ("token 2", "bob", "used first since the start", "", False),
    ]
    whom = f"for 127.0.0.1:{model.server_port}"
    assert acts(copied, "key") == [
        ("token 1", "alice", "llm used", whom, False),
        ("token 2", "bob", "llm used", whom, False),
    ]
    refused = acts(copied, "refused")
    assert [each[:3] for each in refused] == [("visitor", "", "a request from elsewhere")] * 3 and refused[0][-1]
    for secret in (ALICE, BOB, KEY, "guessed-token", "swordfish"):
        assert secret.encode() not in stored(copied)


def test_told_to_stop_it_ends_its_runs_and_stores_them(data: Path, tmp_path: Path) -> None:
    """On loopback nobody needs a token; `--new` begins a workspace."""
    copied = shutil.copytree(data, tmp_path / "data")
    server = Server(copied, "--workspace", "fresh", "--new")
    try:
        refused = posted(server, json.dumps(START).encode(), host="evil.example")
        assert refused.status_code == 403 and "names of this machine" in error(refused)

        async def inside() -> None:
            async with Client(server.url) as made:
                added = await made.call_tool("add_document", {"name": "a.txt", "text": "The well is nine metres deep."})
                assert not added.is_error
                begun = asyncio.Event()

                async def steps(progress: float, total: float | None, message: str | None) -> None:
                    if not begun.is_set():
                        begun.set()
                        server.process.send_signal(signal.SIGTERM)

                question = {"question": "How deep is the well?"}
                asked = await made.call_tool("ask", question, progress_callback=steps)
                assert begun.is_set()
                assert asked.is_error and "The run was stopped." in asked.content[0].text  # type: ignore[union-attr]

        asyncio.run(asyncio.wait_for(inside(), 90))
        out, err = server.process.communicate(timeout=60)
        assert (server.process.returncode, out) == (0, "") and "Traceback" not in err
    finally:
        server.process.kill()
    with local_models.engine(AppConfig.of(data=copied)) as engine:
        (run,) = engine.library("fresh").runs.latest()
        trace = engine.library("fresh").runs.trace(run.run_id)
    assert trace.cancelled and trace.via == "mcp"
