"""`keep`, `gaps`, `--of` and `--tag`: pages kept from runs, questions without an answer or of some documents."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crag.core.sample import Sample
from tests.support.shell import crag

pytestmark = pytest.mark.usefixtures("read_here")

QUESTION = "Why did the airplane skid off the runway at Wausau?"


@pytest.fixture
def place(library: Path, tmp_path: Path) -> Path:
    """A copy of the library with the sample's PDF."""
    return shutil.copytree(library, tmp_path / "own")


def test_a_page_is_kept_from_the_shell_and_answers_the_next_question(place: Path, sample: Sample) -> None:
    ask = ("ask", QUESTION, "--web-folder", sample.web, "--library", place)
    first = crag(*ask, "--json").records[-1]
    assert first["action"] == "INCORRECT" and first["asked_of"] is None
    url = first["web_sources"][0]["url"]
    listed = crag("gaps", "--library", place)
    assert QUESTION in listed.out and f"keep {first['run_id']} {url}" in listed.out
    assert crag("gaps", "--library", place, "--json").records[0]["pages"][0]["url"] == url

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
    assert "answered since" in crag("gaps", "--closed", "--library", place).out

    name = ran.records[0]["name"]
    scoped = crag(*ask, "--of", name, "--json").records[-1]
    assert scoped["asked_of"] == {"documents": [name], "tags": [], "gone": 0}
    assert {each["source"] for each in scoped["chunks"]} == {name}
    assert f"Asked of: {name}" in crag(*ask, "--of", name).err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("keep", "nowhere"), "no run"),
        (("ask", "why?", "--of", "nowhere.pdf"), "no document called nowhere.pdf"),
        (("search", "why?", "--tag", "finance"), "No document has the tag finance"),
    ],
)
def test_what_there_is_not_is_told(place: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = crag(*arguments, "--library", place)
    assert ran.code == 1 and said in ran.err and "Traceback" not in ran.err
