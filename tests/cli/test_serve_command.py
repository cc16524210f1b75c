"""`crag serve` and `crag ui`: what they refuse to start with, each in one sentence."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from crag.cli.main import main
from crag.core.sample import Sample
from tests.support.shell import crag


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path / "data"))
    for name in ("CRAG_TOKENS", "CRAG_TOKENS_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "tokens", "words"),
    [
        (["--host", "0.0.0.0"], "", "Without tokens this machine alone may be served"),
        (["--workspace", "mine"], "a-secret-token=alpha", "With tokens, each has its workspace"),
        (["--workspace", "../mine"], "", "no name for a workspace"),
        ([], "a-secret-token=alpha,alpha-secret", "Entry 2 of the tokens"),
        (["--rate", "-1"], "", "--rate"),
        (["--port", "70000"], "", "Port 70000 of 127.0.0.1 can't be had"),
    ],
)
def test_what_cant_be_served_is_said_in_a_sentence(
    arguments: list[str], tokens: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRAG_TOKENS", tokens)
    assert main(["serve", *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.err.count("\n") == 1 and not said.out
    assert "secret" not in said.err


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("crag.integrations.http.app", "crag.integrations.calls"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: The HTTP server needs packages that are not installed. Run: pip install")


def test_the_app_needs_streamlit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "streamlit", None)
    assert main(["ui"]) == 1
    assert "Streamlit" in capsys.readouterr().err


# `site`: chosen runs as pages that replay from disk, an index of them, and nothing written for a run that is not


@pytest.fixture(scope="module")
def asked(library: Path, sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A copy of the sample library and the ids of two runs in it."""
    place = shutil.copytree(library, tmp_path_factory.mktemp("site") / "own")
    runs = [crag("ask", each.question, "--library", place, "--json").records[-1] for each in sample.questions[:2]]
    return place, [str(run["run_id"]) for run in runs]


def test_the_index_lists_the_runs_and_every_page_replays_and_leads_back(
    asked: tuple[Path, list[str]], sample: Sample, tmp_path: Path
) -> None:
    place, ids = asked
    ran = crag("site", *ids, "--out", tmp_path / "site", "--library", place, "--json")
    assert ran.code == 0 and [record["run"] for record in ran.records] == ids
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    pages = [Path(str(record["file"])) for record in ran.records]
    assert re.findall(r'href="\./([^"]+)"', index) == [page.name for page in pages]
    assert all(each.question in index for each in sample.questions[:2])
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert 'class="states"' in text and 'href="./index.html"' in text and "default-src 'none'" in text
        assert not re.search(r"""(?:src|href)=["'](?!data:|\./|#)(?!https?://[^"']+["'] target)""", text)


def test_nothing_is_written_for_a_run_that_is_not_there(asked: tuple[Path, list[str]], tmp_path: Path) -> None:
    place, ids = asked
    ran = crag("site", ids[0], "no-such-run", "--out", tmp_path / "site", "--library", place)
    assert ran.code == 1 and "no run no-such-run" in ran.err
    assert not (tmp_path / "site").exists()
    assert crag("site", "--out", tmp_path / "site", "--library", place).code == 2
    (tmp_path / "file").touch()
    taken = crag("site", ids[0], "--out", tmp_path / "file", "--library", place)
    assert taken.code == 1 and "can't be written" in taken.err
