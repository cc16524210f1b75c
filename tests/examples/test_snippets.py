"""docs/using-the-engine.md and curl.sh: every snippet runs as it stands, against a server where it needs one."""

import itertools
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from crag.cli.main import load_command
from tests.examples.conftest import ROOT, process
from tests.support import shell

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "using-the-engine.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_every_snippet_is_of_a_kind_that_is_run() -> None:
    assert sorted(set(re.findall(r"^```(\w+)$", PAGE, flags=re.MULTILINE))) == ["json", "python", "sh"]


def test_the_python_snippets_run_one_after_another(
    served: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRAG_DATA", str(data))
    replies = (AIMessage(f"Answer {number}.") for number in itertools.count(1))
    names: dict[str, Any] = {"model": GenericFakeChatModel(messages=replies)}
    told = []
    for block in blocks("python"):
        exec(compile(block.replace(ADDRESS, served), "using-the-engine.md", "exec"), names)
        told.append(capsys.readouterr().out)
    names["engine"].close()
    said = "".join(told)
    assert "('opm-annual-performance-report-2019.pdf', 4)" in told[1]
    assert "CORRECT [" in told[1]
    assert "two years" in told[2] and "Mean(value=1.0" in told[3]
    assert "CORRECT [{" in told[4] and "Answer 1." in told[4]
    assert "4.0 percent" in told[5]
    assert "The warranty ends two years after delivery." in told[6]
    assert "4.0 percent" in told[7] and told[7].endswith(" CORRECT\n")
    assert re.match(r"\[\(1, 0\.\d+\), \(0, 0\.\d+\)\]\n", told[8])
    assert "Error" not in said


def test_the_commands_take_these_arguments() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if "crag " in line]
    (entry,) = (json.loads(block)["mcpServers"]["documents"] for block in blocks("json"))
    commands = [shlex.split(line.partition("crag ")[2]) for line in lines] + [entry["args"]]
    assert entry["command"] == "crag"
    assert all(load_command(name).make_context(name, arguments) for name, *arguments in commands)
    assert {name for name, *_ in commands} == {"ask", "mcp", "serve"}


def test_the_commands_run(data: Path) -> None:
    said = []
    for command in re.findall(r"^crag (ask.*)$", "\n".join(blocks("sh")), re.MULTILINE):
        ran = shell.crag(*shlex.split(command), CRAG_DATA=str(data))
        assert ran.code == 0, ran.err
        said.append(ran.out)
    plain, record = said
    assert "Chester A. Arthur" in plain and "Chester A. Arthur" in record


def test_curl_follows_the_events_of_a_run(served: str, data: Path) -> None:
    (line,) = (block for block in blocks("sh") if block.startswith("curl"))
    said = process(["bash", "-c", line.replace(ADDRESS, served)], data)
    kinds = re.findall(r"^event: (\w+)$", said, flags=re.MULTILINE)
    assert kinds[0] == "run_started" and "action_taken" in kinds and "answered" in kinds


def test_curl_adds_searches_asks_reranks_and_chats(served: str, data: Path) -> None:
    said = process(["sh", "examples/curl.sh", served], data, TOKEN="secret")
    parts = dict(re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", said, flags=re.MULTILINE | re.DOTALL))
    added, found, asked, ranked = (json.loads(parts[name]) for name in ("documents", "search", "ask", "rerank"))
    assert [each["outcome"] for each in added["data"]] == ["added"]
    assert found["data"][0]["source"] == "ntsb-chi08ca047.html"
    assert "packed snow" in asked["answer"]
    assert [each["index"] for each in ranked["results"]] == [1, 0]
    chunks = [json.loads(line[6:]) for line in parts["chat/completions"].splitlines() if line.startswith("data: {")]
    assert "soft snow" in "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks)
    assert chunks[-1]["crag"]["action"] == "CORRECT"
