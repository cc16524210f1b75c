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
    assert far["fates"][0]["now"] > 10 and far["fates"][0]["rank"] is None
    assert far["change"] == {"k": far["fates"][0]["now"]}


def test_what_cannot_be_looked_for_is_refused(place: Path, sample: Sample) -> None:
    crag("ask", sample.questions[0].question, "--library", place)
    assert crag("explain", "last", "--library", place).err.startswith("error: Nothing to look for.")
    assert "has no page 99" in crag("explain", "last", "--page", "opm:99", "--library", place).err
    assert "There is no document called" in crag("explain", "last", "--page", "x.pdf:1", "--library", place).err
    assert crag("explain", "no-such-run", "--page", "opm:1", "--library", place).code == 1


def test_a_question_is_asked_of_the_documents_that_are_named(place: Path, sample: Sample) -> None:
    asked = crag("ask", sample.questions[0].question, "--of", sample.pdf.name, "--library", place, "--json").records[-1]
    assert asked["asked_of"] == {"documents": [sample.pdf.name], "tags": [], "gone": 0}
