"""`sync`: a preview, a library in step with a folder, and nothing deleted or changed without a word."""

from pathlib import Path

import pytest

from tests.support.shell import Ran, crag

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "ferry.txt").write_text("The ferry over the river Veldt carries sixty people.")
    (papers / "bridge.txt").write_text("The bridge at Orne was built of iron in 1871.")
    return papers


def sync(place: Path, *more: object) -> Ran:
    return crag("sync", place, "--library", place.parent / "library", *more)


def ended(ran: Ran) -> list[tuple[str, str]]:
    return [(record["status"], record["file"]) for record in ran.records]


def test_without_a_word_it_only_shows_what_it_would_do(place: Path) -> None:
    ran = sync(place)
    assert (ran.code, [line.split()[:2] for line in ran.out.splitlines()]) == (
        0,
        [["new", "bridge.txt"], ["new", "ferry.txt"]],
    )
    assert "2 new" in ran.err and "--yes" in ran.err
    assert not (place.parent / "library").exists()


def test_the_library_follows_the_folder_and_deletes_only_where_that_is_said(place: Path) -> None:
    library = place.parent / "library"
    first = sync(place, "--yes", "--json")
    assert (first.code, ended(first)[2:]) == (0, [("added", "bridge.txt"), ("added", "ferry.txt")])
    assert "in step" in sync(place, "--yes").err
    (place / "ferry.txt").write_text("The ferry carries ninety people now.")
    (place / "bridge.txt").rename(place / "iron bridge.txt")
    second = sync(place, "--yes", "--json")
    assert ended(second)[2:] == [("replaced", "ferry.txt"), ("moved", "iron bridge.txt")]
    assert second.records[2]["replaces"]
    (place / "iron bridge.txt").unlink()
    kept = sync(place, "--yes")
    assert kept.code == 0 and kept.out.startswith("gone") and "--delete removes" in kept.err
    assert len(crag("documents", "--library", library, "--json").records) == 2
    assert ended(sync(place, "--delete", "--json")) == [("gone", "iron bridge.txt"), ("removed", "iron bridge.txt")]
    assert [each["name"] for each in crag("documents", "--library", library, "--json").records] == ["ferry.txt"]


def test_a_folder_that_is_not_there_is_said(place: Path, tmp_path: Path) -> None:
    missing = sync(tmp_path / "none")
    assert missing.code == 1 and "Nothing counts as gone" in missing.err
