"""`evaluate`: a set checked, asked under strategies, compared, exported; stopped and gone on with."""

import csv
import io
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crag.messages.evaluations import TITLES
from crag.storage.library import Library
from tests.support.shell import Ran, crag, started
from tests.support.sizes import sized
from tests.support.small_pdf import LIGHTHOUSE, small_pdf

MANY = sized(120, 30)
"""Questions enough to be interrupted in the middle of them."""

SET = """id,question,answer,source,page
built,When was the lighthouse of Veldt Point built?,1871,lighthouse.pdf,1
lamp,How far is the lamp visible?,nineteen nautical miles,lighthouse.pdf,2
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that holds one small PDF."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "lighthouse.pdf").write_bytes(small_pdf(*LIGHTHOUSE))
    assert crag("index", folder / "lighthouse.pdf", "--library", folder / "library").code == 0
    return folder / "library"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "set.csv"
    file.write_text(SET, encoding="utf-8")
    return file


class Looks:
    """Looks into a library beside the command: no model is needed for that."""

    id, dimension = "none", 1

    def embed(self, texts: object) -> Any:
        raise AssertionError("nothing is searched here")


@pytest.fixture
def looked(place: Path) -> Iterator[Library]:
    with Library(place, Looks()) as library:
        yield library


def table_of(ran: Ran) -> dict[str, list[str]]:
    """The table's cells by the name in their first column; the sentences below it are left out."""
    lines = ran.out.partition("\n\n")[0].splitlines()
    parted = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {name: cells for name, *cells in parted}


def test_strategies_stand_side_by_side_with_what_is_known(place: Path, questions: Path) -> None:
    ran = crag("evaluate", questions, "--library", place, "--strategy", "balanced", "plain-rag", "joint", "--restart")
    assert ran.code == 0, ran.err
    table = table_of(ran)
    assert {*TITLES.values()} <= set(table)
    assert table["Questions"] == ["2", "2", "2"]
    assert table[TITLES["acted_right"]][1] == "–", "plain RAG decides nothing"
    assert table[TITLES["first_recall"]][0] == "1.00"
    assert table["Cost of all calls"][0] == "$0"
    assert "set.csv: 2 questions, 0 rows left out; read as CSV (id from 'id'" in ran.err
    assert "balanced: 2 questions" in ran.err and "joint: 2 questions" in ran.err
    _, lost = ran.out.split("\n\n")
    assert [line.partition(":")[0] for line in lost.splitlines()] == ["balanced", "plain-rag", "joint"]
    assert all("2 questions" in line for line in lost.splitlines()), lost
    assert "\x1b" not in ran.out + ran.err


def test_scripts_read_records(place: Path, questions: Path) -> None:
    ran = crag("evaluate", questions, "--library", place, "--strategy", "balanced", "plain-rag", "--json", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert [record["kind"] for record in ran.records] == ["evaluation"] * 2
    balanced, plain = ran.records
    assert (balanced["strategy"], plain["strategy"], balanced["questions"]) == ("balanced", "plain-rag", 2)
    assert balanced["means"]["first_holds"] == {"value": 1.0, "known": 2, "low": 1.0, "high": 1.0}
    assert plain["means"]["acted_right"]["value"] is None
    assert balanced["spent"]["said"] == "$0"


def test_rows_go_to_files_without_live_formulas(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    asked = '=HYPERLINK("http://127.0.0.1/","When was the lighthouse built?")'
    file.write_text(json.dumps({"id": "+cmd", "question": asked, "answer": "1871"}) + "\n")
    out, listed = tmp_path / "out.csv", tmp_path / "out.json"
    ran = crag("evaluate", file, "--library", place, "--csv", out, "--json-file", listed, "--strategy", "plain-rag")
    assert ran.code == 0, ran.err
    assert f"1 rows written to {out}" in ran.err
    (row,) = csv.DictReader(io.StringIO(out.read_text(encoding="utf-8-sig")))
    assert (row["question_id"], row["question"], row["strategy"]) == ("'+cmd", f"'{asked}", "plain-rag")
    assert row["action"] == "" and row["seconds"]
    (record,) = json.loads(listed.read_text(encoding="utf-8"))
    assert (record["question_id"], record["question"], record["action"]) == ("+cmd", asked, None)


def test_bad_rows_are_named_first_and_the_good_ones_are_asked(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "set.csv"
    bad = "".join(f"bad{row},,x,lighthouse.pdf,1\n" for row in range(14))
    file.write_text(SET + bad + "built,Who was its keeper?,Anna Marrow,lighthouse.pdf,0\n", encoding="utf-8")
    ran = crag("evaluate", file, "--library", place, "--strategy", "plain-rag", "--quiet")
    assert ran.code == 0, ran.err
    warnings = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    assert warnings[0] == "warning: Row 4: it has no question."
    assert len(warnings) == 11 and warnings[-1] == "warning: 5 more rows have problems"
    assert table_of(ran)["Questions"][0] == "2"


@pytest.mark.slow
def test_an_interrupted_evaluation_keeps_what_is_done_and_says_how_to_go_on(
    place: Path, tmp_path: Path, looked: Library
) -> None:
    file = tmp_path / "many.jsonl"
    lines = [json.dumps({"id": f"q{row}", "question": f"How far is lamp {row} visible?"}) for row in range(MANY)]
    file.write_text("\n".join(lines))
    arguments = ("evaluate", str(file), "--library", str(place), "--strategy", "plain-rag")
    running = started("-m", "crag", *arguments, stderr=subprocess.PIPE)
    while not any(each.set_name == "many.jsonl" and each.done >= 3 for each in looked.evaluations.all()):
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    (broken,) = [each for each in looked.evaluations.all() if each.set_name == "many.jsonl"]
    assert f"interrupted: {broken.done} of {MANY} questions of plain-rag are done and kept." in err
    assert "Give the same command again" in err and "Traceback" not in err
    kept = set(looked.evaluations.places(broken.id))
    again = crag(*arguments, "--json")
    assert again.code == 0, again.err
    assert f"{broken.done} of {MANY} questions were done before" in again.err
    (record,) = again.records
    assert (record["id"], record["questions"]) == (broken.id, MANY)
    assert kept <= set(looked.evaluations.places(broken.id))


def test_a_service_that_cannot_be_used_ends_it(place: Path, tmp_path: Path) -> None:
    """One that lacks its key at once, one that fails on every question after a few: what is asked is something else."""
    file = tmp_path / "set.jsonl"
    file.write_text("".join(f'{{"question": "What does planet {row} weigh?"}}\n' for row in range(6)))
    keyless = crag("evaluate", file, "--library", place, "--web", "tavily")
    assert (keyless.code, keyless.out) == (1, "")
    assert "Tavily needs a key" in keyless.err
    gone = crag("evaluate", file, "--library", place, "--web-folder", tmp_path / "nowhere")
    assert (gone.code, gone.out) == (1, "")
    assert "5 questions in a row failed in the same way" in gone.err and "evaluate again" in gone.err


def test_an_empty_library_is_told_to_be_filled(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = crag("evaluate", questions, "--library", tmp_path / "empty")
    assert ran.code == 1 and "python -m crag index" in ran.err
