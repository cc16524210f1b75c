"""`evaluate --against`: a change that breaks answers fails the command, with a report; wrong baselines are refused."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest

from crag.cli.main import main
from tests.support import local_models
from tests.support.shell import ROOT, Ran, crag
from tests.support.small_pdf import LIGHTHOUSE, small_pdf

SET = """id,question,answer,source,page
lamp,How far is the lamp visible?,nineteen nautical miles,lighthouse.pdf,2
range,From what distance can the lamp be seen?,nineteen nautical miles,lighthouse.pdf,2
"""
STRICT = ("--lower", "0.99999", "--upper", "1", "--set", "aggregation=any")
"""A change that finds every chunk irrelevant."""
PAGE = (ROOT / "docs" / "check-a-change.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library, a set, and the file of a baseline."""
    folder = tmp_path_factory.mktemp("against")
    (folder / "lighthouse.pdf").write_bytes(small_pdf(*LIGHTHOUSE))
    (folder / "set.csv").write_text(SET, encoding="utf-8")
    assert crag("index", folder / "lighthouse.pdf", "--library", folder / "library").code == 0
    assert evaluate(folder, "--json-file", folder / "baseline.json").code == 0
    return folder


def evaluate(folder: Path, *arguments: object, set: str = "set.csv") -> Ran:
    return crag("evaluate", folder / set, "--library", folder / "library", *arguments)


def test_a_change_that_loses_answers_fails_with_a_report(folder: Path) -> None:
    against = ("--against", folder / "baseline.json", "--fail-if-worse")
    ran = evaluate(folder, *STRICT, *against, "--report", folder / "report.md")
    assert ran.code == 1, ran.err
    said = (folder / "report.md").read_text(encoding="utf-8")
    assert said.startswith("# Evaluation of balanced against a baseline\n\n**Worse: 0.0% of 2 labelled questions right")
    assert "lighthouse.pdf, p. 2" in said and "Now: Below the lower threshold. Before: Passed every step." in said
    assert "Worse: 2 questions" in ran.out and "From what distance" in ran.out
    assert evaluate(folder, *STRICT, *against[:2]).code == 0, "only --fail-if-worse fails"
    assert evaluate(folder, *against).code == 0, "nothing changed"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--fail-if-worse",), "Name it by --against"),
        (("--report", "report.md"), "Name it by --against"),
        (("--against", "baseline.json", "--strategy", "balanced", "plain-rag"), "one strategy is evaluated"),
        (("--against", "0123456789abcdef"), "no evaluation 0123456789abcdef"),
        (("--against", "gone.json"), "can't be read"),
        (("--against", "set.csv"), "no file of results"),
        (("--against", "baseline.json", "--limit", "1"), "another question set"),
    ],
)
def test_a_wrong_baseline_is_wrong_usage_and_nothing_is_asked(
    folder: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = evaluate(folder, *(folder / each if (folder / each).exists() else each for each in arguments))
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert says in ran.err and "Traceback" not in ran.err


def test_the_commands_of_the_page_run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "lighthouse.pdf").write_bytes((folder / "lighthouse.pdf").read_bytes())
    (tmp_path / "questions.csv").write_text(SET, encoding="utf-8")
    commands = re.findall(r"^(?:      - run: )?crag (.*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) == 10
    with contextlib.chdir(tmp_path):
        for command in commands:
            assert main(shlex.split(command), local_models.engine) == 0, (command, capsys.readouterr().err)
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# Evaluation of balanced")
