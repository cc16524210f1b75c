"""`tag`, `verify` and `--where`: fields given on the command line, the index compared and mended, searches limited."""

import shutil
from pathlib import Path

import pytest

from tests.support.shell import crag
from tests.support.small_pdf import LIGHTHOUSE, small_pdf

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A library of two documents."""
    (tmp_path / "lighthouse.pdf").write_bytes(small_pdf(*LIGHTHOUSE))
    (tmp_path / "glacier.pdf").write_bytes(small_pdf("The glacier lost four metres of ice in the year 2024."))
    assert crag("index", tmp_path, "--library", tmp_path / "library").code == 0
    return tmp_path / "library"


def test_fields_are_given_shown_and_taken_away(place: Path) -> None:
    ran = crag("tag", "lighthouse.pdf", "tags=tower,old", "verified=true", "--library", place, "--json")
    assert ran.code == 0
    assert ran.records[0]["fields"]["tags"] == ["tower", "old"]
    shown = crag("tag", "lighthouse.pdf", "--library", place).out.splitlines()
    assert {"name=lighthouse.pdf", "verified=true"} <= set(shown)
    assert crag("tag", "lighthouse.pdf", "tags=", "--library", place, "--json").records[0]["fields"]["tags"] == []


def test_a_search_is_limited_to_what_meets_the_filter(place: Path) -> None:
    crag("tag", "glacier.pdf", "verified=true", "--library", place)
    ran = crag("search", "light of the tower", "--where", "verified", "--library", place, "--json")
    assert {record["source"] for record in ran.records} == {"glacier.pdf"}


def test_a_library_is_verified_and_its_index_mended(place: Path) -> None:
    ran = crag("verify", "--library", place)
    assert ran.code == 0 and "2 documents" in ran.out and "fits them" in ran.out
    shutil.rmtree(place / "index")
    assert crag("verify", "--library", place, "--json").records[0]["status"] == "whole", "it is made anew when missing"
    assert crag("verify", "--repair", "--library", place, "--json").records[0]["missing"] == 0
