"""The server on standard input and output: nothing but protocol goes out, and every end is a good one."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="pip install -r requirements/mcp.txt")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from crag.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def library(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(data / "workspaces" / "alice", tmp_path_factory.mktemp("one") / "library")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_the_sdks_client_asks_a_question_and_reads_what_is_cited(library: Path) -> None:
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "crag", "mcp", "--library", str(library), "--read-only"], env=environment()
    )
    told: list[str] = []

    async def steps(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async def inside() -> None:
        async with Client(stdio_client(started)) as client:
            assert "add_document" not in [tool.name for tool in (await client.list_tools()).tools]
            question = {"question": "Who was the keeper of the lighthouse?"}
            answer = await client.call_tool("ask", question, progress_callback=steps)
            found: dict[str, Any] = answer.structured_content
            assert found["action"] and (found["citations"] or found["state"] == "not found")
            page = await client.read_resource(found["chunks"][0]["uri"])
            assert "<page" in page.contents[0].text  # type: ignore[union-attr]

    asyncio.run(asyncio.wait_for(inside(), 120))
    assert told[:2] == ["Searches the documents.", "Grades what was found."]


def test_only_protocol_goes_out_and_what_is_no_message_is_left_out(library: Path) -> None:
    """Told to stop while its input is open, it ends in good order, too."""
    server = subprocess.Popen(
        [sys.executable, "-m", "crag", "mcp", "--library", str(library)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert server.stdin and server.stdout

    def sent(line: bytes) -> dict[str, Any]:
        assert server.stdin and server.stdout
        server.stdin.write(line + b"\n")
        server.stdin.flush()
        found: dict[str, Any] = json.loads(server.stdout.readline())
        return found

    try:
        for wrong in (b"{nope", b"\xff", b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', b"[" * 50_000):
            server.stdin.write(wrong + b"\n")
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        begun = sent(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode())
        assert begun["result"]["serverInfo"]["name"] == "crag-explorer"
        call = {"name": "search", "arguments": {"query": "lighthouse", "k": 1}}
        found = sent(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}).encode())
        assert found["result"]["structuredContent"]["passages"]
        server.send_signal(signal.SIGTERM)
        assert server.stdout.read() == b"" and server.wait(60) == 0
    finally:
        server.kill()
        server.communicate()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--library", "nowhere"], "There is no library at nowhere."),
        (["--workspace", "nobody"], "There is no workspace nobody."),
        (["--workspace", "../a"], "../a"),
        (["--workspace", "a", "--library", "b"], "Both --library and --workspace are given."),
        (["--http", "--host", "0.0.0.0"], "others can reach 0.0.0.0"),
        (["--http", "--port", "99999"], "Port 99999 of 127.0.0.1 can't be had"),
    ],
)
def test_what_can_not_be_served_is_said_at_the_start(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("CRAG_TOKENS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["mcp", *arguments]) in (1, 2)
    told = capsys.readouterr()
    assert why in told.err and not told.out and not (tmp_path / "data").exists()


def test_without_the_sdk_it_says_how_to_have_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 1
    assert 'pip install "mcp' in capsys.readouterr().err


def test_an_unknown_workspace_of_a_token_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CRAG_TOKENS", "a-token-of-nobody-1=nobody")
    assert main(["mcp", "--http"]) == 1
    told = capsys.readouterr().err
    assert "There is no workspace nobody." in told and "a-token" not in told
    assert main(["mcp", "--http", "--workspace", "a"]) == 2
    assert "each has its workspace" in capsys.readouterr().err
