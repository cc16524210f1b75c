"""`evaluate --baseline`: a change that breaks answers fails the command; wrong baselines are refused."""

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
    folder = tmp_path_factory.mktemp("baseline")
    (folder / "lighthouse.pdf").write_bytes(small_pdf(*LIGHTHOUSE))
    (folder / "set.csv").write_text(SET, encoding="utf-8")
    assert crag("index", folder / "lighthouse.pdf", "--library", folder / "library").code == 0
    assert evaluate(folder, "--json-file", folder / "baseline.json").code == 0
    text = (folder / "baseline.json").read_text(encoding="utf-8")
    (folder / "unasked.json").write_text(text.replace("lamp", "lens"), encoding="utf-8")
    return folder


def evaluate(folder: Path, *arguments: object, set: str = "set.csv") -> Ran:
    return crag("evaluate", folder / set, "--library", folder / "library", *arguments)


def test_a_change_that_loses_answers_fails_and_names_them(folder: Path) -> None:
    against = ("--baseline", folder / "baseline.json")
    ran = evaluate(folder, *STRICT, *against)
    assert ran.code == 1, ran.err
    assert "Right answer or page: 1 lower with balanced than with the baseline over 2 questions" in ran.out
    assert "Worse than the baseline: 2 questions lost, 0 won." in ran.out and "From what distance" in ran.out
    record = evaluate(folder, *STRICT, *against, "--json").records[-1]
    assert (record["kind"], record["worse"], record["won"]) == ("baseline", True, 0)
    assert [each["question_id"] for each in record["lost"]] == ["lamp", "range"]
    right = next(each for each in record["differences"] if each["measure"] == "right")
    assert (right["first"], right["second"], right["high"]) == (1.0, 0.0, -1.0)
    same = evaluate(folder, *against)
    assert same.code == 0 and "Not worse than the baseline: 0 questions lost, 0 won." in same.out


def test_a_question_that_the_baseline_has_in_other_words_is_not_compared(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(SET.replace("How far is the lamp", "From where is the lamp"), encoding="utf-8")
    ran = evaluate(folder, *STRICT, "--baseline", folder / "baseline.json", set=str(other))
    assert ran.code == 0 and "Not worse than the baseline: 1 question lost" in ran.out, "one question has no interval"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--baseline", "baseline.json", "--strategy", "balanced", "plain-rag"), "one strategy is evaluated"),
        (("--baseline", "gone.json"), "can't be read"),
        (("--baseline", "set.csv"), "no file of results"),
        (("--baseline", "unasked.json"), "none of these questions"),
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
    commands = re.findall(r"^(?:      - run: )?crag (.*--library lib.*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) == 5, "those of backups want a data folder"
    with contextlib.chdir(tmp_path):
        for command in commands:
            assert main(shlex.split(command), local_models.engine) == 0, (command, capsys.readouterr().err)
