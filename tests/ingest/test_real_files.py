"""Files below a folder are opened without following a link."""

import os
from pathlib import Path

import pytest

from crag.runtime.real_files import RealFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "papers"
    (place / "below" / "deep").mkdir(parents=True)
    (place / "below" / "deep" / "a.txt").write_text("words")
    return place


def test_a_file_and_what_a_folder_holds(folder: Path) -> None:
    real = RealFolder.of(str(folder))
    with real.open(str(folder / "below" / "deep" / "a.txt")) as opened:
        assert opened.read() == b"words"
    for place, names in ((folder, ["below"]), (folder / "below" / "deep", ["a.txt"])):
        with real.entries(str(place)) as entries:
            assert [each.name for each in entries] == names
    real.check()


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(folder)
    with RealFolder.of(str(tmp_path / "way")).open(str(tmp_path / "way" / "below" / "deep" / "a.txt")) as opened:
        assert opened.read() == b"words"


@pytest.mark.parametrize("part", ["below", "below/deep", "below/deep/a.txt"])
def test_no_part_of_the_way_may_be_a_link(folder: Path, tmp_path: Path, part: str) -> None:
    real = RealFolder.of(str(folder))
    (folder / part).rename(tmp_path / "moved")
    (folder / part).symlink_to(tmp_path / "moved")
    with pytest.raises(OSError, match="it is a link now"):
        real.open(str(folder / "below" / "deep" / "a.txt"))
    if not part.endswith("txt"):
        with pytest.raises(OSError, match="it is a link now"), real.entries(str(folder / "below" / "deep")):
            pass


def test_another_folder_in_its_place_is_not_taken_for_it(folder: Path, tmp_path: Path) -> None:
    real = RealFolder.of(str(folder))
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path)
    for opening in (real.check, lambda: real.open(str(folder / "a.txt"))):
        with pytest.raises(OSError, match="replaced meanwhile"):
            opening()


def test_what_is_no_file_or_not_below_is_refused(folder: Path) -> None:
    real = RealFolder.of(str(folder))
    os.mkfifo(folder / "pipe.txt")
    for place in ("pipe.txt", "../papers/below/../../x.txt"):
        with pytest.raises(OSError, match=r"no regular file|not below"):
            real.open(str(folder / place))
    with pytest.raises(OSError, match="Not a directory"):
        RealFolder.of(str(folder / "below" / "deep" / "a.txt"))
