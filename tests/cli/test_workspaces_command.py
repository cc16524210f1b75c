"""crag workspaces: all there are, the longest unused first, and those that nobody has used for long."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crag.admin.roles import Actor
from crag.cli.main import main
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.storage.private import name_of
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill, spread


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[AppConfig], Engine]:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    return lambda config: Engine(config, embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread))


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_workspaces_are_listed_by_their_last_use(
    make: Callable[[AppConfig], Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = make(AppConfig.from_environment())
    private = name_of(engine.private_libraries.issue())
    fill(engine, workspace=private)  # a document of January 2026
    fill(engine)
    assert engine.trace(RunRequest("How long did hiring take in 2019?")).answer
    team = engine.teams.spaces.make("Bridges", Actor(name="owner"))
    engine.close()
    assert main(["workspaces", "--json"], make) == 0
    oldest, *rest = listed(capsys)
    assert oldest == {"workspace": private, "title": "", "owner": "", "used_at": "2026-01-01T00:00:00+00:00"}
    assert {(each["workspace"], each["title"]) for each in rest} == {("default", ""), (team.name, "Bridges")}
    days = (datetime.now(UTC) - datetime(2026, 1, 1, tzinfo=UTC)).days
    assert main(["workspaces", "--unused", str(days)], make) == 0
    assert capsys.readouterr().out == f"{private:<42}  2026-01-01\n"
    assert main(["workspaces", "--unused", str(days + 1)], make) == 0
    assert capsys.readouterr().out == ""


def test_a_damaged_workspace_is_named_and_the_others_are_listed(
    tmp_path: Path, make: Callable[[AppConfig], Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = make(AppConfig.from_environment())
    fill(engine)
    engine.close()
    (tmp_path / "workspaces" / "broken").mkdir()
    (tmp_path / "workspaces" / "broken" / "library.db").write_bytes(b"no database at all" * 100)
    assert main(["workspaces"], make) == 1
    said = capsys.readouterr()
    assert said.out.startswith("default") and said.err.startswith("broken: ")
