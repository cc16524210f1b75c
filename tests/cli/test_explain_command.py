"""`explain`: why a page or sentence is not in the answer of a run, from the shell."""

import shutil
from pathlib import Path

import pytest

from crag.core.sample import Sample
from tests.support.shell import crag


@pytest.fixture
def place(library: Path, tmp_path: Path) -> Path:
    """A copy of the library with the sample's PDF."""
    return shutil.copytree(library, tmp_path / "own")


def test_the_shell_says_how_far_a_page_came_and_what_would_have_kept_it(place: Path, sample: Sample) -> None:
    asked = crag("ask", sample.questions[0].question, "--library", place, "--json").records[-1]
    cited = asked["citations"][0]["page"]
    ran = crag("explain", "last", "--page", f"opm:{cited}", "--library", place)
    assert ran.code == 0 and "the answer cites it" in ran.out

    far = crag("explain", asked["run_id"], "--page", f"{sample.pdf.name}:45", "--library", place, "--json").records[0]
    assert far["stage"] == "not retrieved" and far["document"] == sample.pdf.name
    assert far["fates"][0]["together"] > 10 and far["fates"][0]["rank"] is None
    assert far["change"] == {"k": far["fates"][0]["together"]}


def test_what_cannot_be_looked_for_is_refused(place: Path, sample: Sample) -> None:
    crag("ask", sample.questions[0].question, "--library", place)
    assert crag("explain", "last", "--library", place).err.startswith("error: Nothing to look for.")
    assert "has no page 99" in crag("explain", "last", "--page", "opm:99", "--library", place).err
    assert "There is no document called" in crag("explain", "last", "--page", "x.pdf:1", "--library", place).err
    assert crag("explain", "no-such-run", "--page", "opm:1", "--library", place).code == 1


def test_the_shell_says_what_a_score_rests_on_and_what_would_change_the_action(place: Path, sample: Sample) -> None:
    for question in sample.questions:
        crag("ask", question.question, "--library", place)
    ran = crag("explain", "last", "--grade", 1, "--without", "1,2", "--flip", "--library", place)
    assert ran.code == 0 and "INCORRECT by itself" in ran.out and "without: runway" in ran.out
    assert "Still INCORRECT" in ran.out and "“Lower threshold” set to" in ran.out
    assert "The nearest run with another action" in ran.out

    asked = crag("ask", sample.questions[0].question, "--library", place, "--json").records[-1]
    options = ("--grade", 1, "--without", "1,6", "--flip", "--json")
    grade, left, flip = crag("explain", asked["run_id"], *options, "--library", place).records
    assert grade["verdict"] == "CORRECT" and min(each["score"] for each in grade["words"]) < grade["score"]
    assert min(each["score"] for each in grade["sentences"]) < 0.2
    assert (left["before"], len(left["left_out"])) == ("CORRECT", 2) and left["action"] != "CORRECT"
    one = crag("explain", asked["run_id"], "--without", 2, "--json", "--library", place).records[0]
    assert one["action"] == "CORRECT" and one["cited"][0].startswith("page")
    assert flip["moves"][0]["settings"]["upper"] > 0.4 and flip["other"]["action"] != "CORRECT"


def test_chunks_that_the_run_does_not_have_are_refused(place: Path, sample: Sample) -> None:
    crag("ask", sample.questions[0].question, "--library", place)
    for number in (0, 99):
        assert f"has no chunk {number}" in crag("explain", "last", "--grade", number, "--library", place).err
    assert "has no chunk 99" in crag("explain", "last", "--without", "1,99", "--library", place).err
    assert "no number of a chunk" in crag("explain", "last", "--without", "one", "--library", place).err


# `keep`, `gaps`, `--of` and `--tag`: pages kept from runs, questions without an answer or of some documents


pytestmark = pytest.mark.usefixtures("read_here")

QUESTION = "Why did the airplane skid off the runway at Wausau?"


def test_a_page_is_kept_from_the_shell_and_answers_the_next_question(place: Path, sample: Sample) -> None:
    ask = ("ask", QUESTION, "--web-folder", sample.web, "--library", place)
    first = crag(*ask, "--json").records[-1]
    assert first["action"] == "INCORRECT" and first["asked_of"] is None
    url = first["web_sources"][0]["url"]
    listed = crag("gaps", "--library", place)
    assert QUESTION in listed.out and f"run {first['run_id']}" in listed.out
    assert crag("gaps", "--library", place, "--json").records[0]["runs"][0] == first["run_id"]

    ran = crag("keep", first["run_id"], url, "--library", place, "--confidence", "0.6", "--json")
    assert ran.code == 0 and [each["status"] for each in ran.records] == ["kept"]
    assert "already in the library" in crag("keep", "last", url, "--library", place).out

    again = crag(*ask, "--json").records[-1]
    assert again["action"] == "CORRECT"
    assert {(each["origin"], each["url"], each["from_web"]) for each in again["citations"]} == {
        ("internal", url, "unverified")
    }
    assert "kept from the web, unverified" in crag(*ask).out
    assert "No gap" in crag("gaps", "--library", place).err

    name = ran.records[0]["name"]
    scoped = crag(*ask, "--of", name, "--json").records[-1]
    assert scoped["asked_of"] == {"documents": [name], "tags": [], "gone": 0}
    assert {each["source"] for each in scoped["chunks"]} == {name}
    assert f"Asked of: {name}" in crag(*ask, "--of", name).err
