"""`purge`: what would go and why, what went, and how it comes back."""

from pathlib import Path

import pytest

from tests.support.shell import crag

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def place(folder: Path, tmp_path: Path) -> Path:
    """A library of one document, which was added a moment ago."""
    assert crag("index", folder / "lighthouse.pdf", "--library", tmp_path / "it", "--confidence", 0.4).code == 0
    return tmp_path / "it"


def test_a_dry_run_changes_nothing_and_a_purge_is_undone(place: Path) -> None:
    conditions = ("--where", "confidence < 0.5", "--where", "verified = false", "--library", place)
    (due,) = crag("purge", *conditions, "--dry-run", "--json").records
    assert (due["status"], due["name"], due["why"]) == (
        "due",
        "lighthouse.pdf",
        "meets confidence < 0.5 and verified = false",
    )
    assert len(crag("documents", "--library", place, "--json").records) == 1
    gone = crag("purge", *conditions)
    assert gone.code == 0
    assert gone.out == "purged  lighthouse.pdf: meets confidence < 0.5 and verified = false\n"
    assert "purge --undo" in gone.err
    assert crag("documents", "--library", place, "--json").records == []
    assert crag("search", "lighthouse", "--library", place).code == 1
    (held,) = crag("documents", "--purged", "--library", place, "--json").records
    assert (held["id"], held["why"]) == (due["id"], due["why"])
    (back,) = crag("purge", "--undo", str(due["id"])[:8], "--library", place, "--json").records
    assert (back["status"], back["id"]) == ("restored", due["id"])
    assert crag("search", "lighthouse", "--library", place).code == 0
    assert crag("purge", *conditions).out == "", "what was brought back is kept"
    assert "keep=true" in crag("tag", "lighthouse.pdf", "--library", place).out
