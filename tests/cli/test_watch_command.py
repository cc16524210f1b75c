"""`watch`: a preview, a library in step with a folder, and nothing deleted or changed without a word."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.shell import Ran, crag, line_of, started

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "ferry.txt").write_text("The ferry over the river Veldt carries sixty people.")
    (papers / "bridge.txt").write_text("The bridge at Orne was built of iron in 1871.")
    return papers


def watch(place: Path, *more: object) -> Ran:
    return crag("watch", place, "--once", "--library", place.parent / "library", *more)


def ended(ran: Ran) -> list[tuple[str, str]]:
    return [(record["status"], record["file"]) for record in ran.records]


def test_without_a_word_it_only_shows_what_it_would_do(place: Path) -> None:
    ran = watch(place)
    assert (ran.code, [line.split()[:2] for line in ran.out.splitlines()]) == (
        0,
        [["new", "bridge.txt"], ["new", "ferry.txt"]],
    )
    assert "2 new" in ran.err and "--yes" in ran.err
    assert not (place.parent / "library").exists()


def test_the_library_follows_the_folder_and_deletes_only_where_that_is_said(place: Path) -> None:
    library = place.parent / "library"
    first = watch(place, "--yes", "--json")
    assert (first.code, ended(first)[2:]) == (0, [("added", "bridge.txt"), ("added", "ferry.txt")])
    assert "in step" in watch(place, "--yes").err
    (place / "ferry.txt").write_text("The ferry carries ninety people now.")
    (place / "bridge.txt").rename(place / "iron bridge.txt")
    second = watch(place, "--yes", "--json")
    assert ended(second)[2:] == [("replaced", "ferry.txt"), ("moved", "iron bridge.txt")]
    assert second.records[2]["replaces"]
    (place / "iron bridge.txt").unlink()
    kept = watch(place, "--yes")
    assert kept.code == 0 and kept.out.startswith("gone") and "--delete removes" in kept.err
    assert len(crag("documents", "--library", library, "--json").records) == 2
    assert ended(watch(place, "--delete", "--json")) == [("gone", "iron bridge.txt"), ("removed", "iron bridge.txt")]
    assert [each["name"] for each in crag("documents", "--library", library, "--json").records] == ["ferry.txt"]


def test_a_folder_that_is_not_there_and_nobody_to_ask_are_said(place: Path, tmp_path: Path) -> None:
    missing = watch(tmp_path / "none")
    assert missing.code == 1 and "Nothing counts as gone" in missing.err
    assert crag("watch", place, "--library", tmp_path / "library").code == 2


@pytest.mark.slow
def test_it_looks_again_until_it_is_interrupted(place: Path, tmp_path: Path) -> None:
    command = ["watch", place, "--yes", "--every", "0.2", "--library", tmp_path / "library"]
    with started("-m", "crag", *command, stderr=subprocess.PIPE) as process:
        lines = [line_of(process) for _ in range(4)]
        (place / "tower.txt").write_text("The tower of Marrow has ninety steps.")
        lines += [line_of(process) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert "3 added" in process.stderr.read()
    assert [line.split()[0] for line in lines] == ["new", "new", "added", "added", "new", "added"]
