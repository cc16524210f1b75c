"""Private libraries: keys that only this program gives out, folders that tell nothing of them, and older ones."""

import os
import re
import stat
from pathlib import Path

import pytest

from crag.storage.library import Library
from crag.storage.private import PrivateLibraries, name_of
from tests.support.library_makers import HashEmbedder, fill, save_run

EARLIER = "0123456789abcdef0123456789abcdef"


def stored(folder: Path) -> None:
    with Library(folder, HashEmbedder()) as library:
        fill(library, "alpha")
        save_run(library, "r1")


def test_a_key_is_known_here_and_nowhere_else(tmp_path: Path) -> None:
    here, elsewhere = PrivateLibraries(tmp_path / "a"), PrivateLibraries(tmp_path / "b")
    keys = {here.issue() for _ in range(100)}
    assert len(keys) == 100 and all(re.fullmatch("[0-9a-f]{48}", key) for key in keys)
    assert all(here.known(key) for key in keys) and not any(elsewhere.known(key) for key in keys)
    assert all(PrivateLibraries(tmp_path / "a").known(key) for key in keys), "also after a restart"
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["keys.secret"]


@pytest.mark.parametrize("forged", ["", "default", "0" * 32, "0" * 48, "../" * 16, "p-" + "0" * 40, "0" * 47 + "\n"])
def test_what_was_not_given_out_is_not_known(tmp_path: Path, forged: str) -> None:
    assert not PrivateLibraries(tmp_path).known(forged)


def test_a_name_tells_nothing_of_its_key_and_is_no_key() -> None:
    assert re.fullmatch("p-[0-9a-f]{40}", name_of(EARLIER)) and EARLIER[:8] not in name_of(EARLIER)


def test_a_broken_library_keeps_nobody_from_starting(tmp_path: Path) -> None:
    broken = tmp_path / "workspaces" / EARLIER
    broken.mkdir(parents=True)
    (broken / "library.db").write_bytes(b"no database at all" * 100)
    whole = tmp_path / "workspaces" / name_of(EARLIER)
    stored(whole)
    whole.chmod(0o755)
    PrivateLibraries(tmp_path).settle()
    assert (broken / "library.db").read_bytes() == b"no database at all" * 100
    assert whole.stat().st_mode & 0o077 == 0


def test_others_on_the_machine_can_read_nothing(tmp_path: Path) -> None:
    """Neither what this program creates nor what was copied here."""
    data = tmp_path / "data"
    mask = os.umask(0o000)
    try:
        PrivateLibraries(data).issue()
        stored(data / "workspaces" / "default")
        with Library(data / "workspaces" / "default", HashEmbedder()) as library:
            library.search("alpha", 1)
            made = {place: place.stat().st_mode for place in (data, *data.rglob("*"))}
    finally:
        os.umask(mask)
    assert {place.name for place in made} >= {"data", "keys.secret", "library.db", "library.db-wal", "index"}
    inside = {place for place in made if place.parent.name == "index" or place.parent.parent.name == "index"}
    assert len(inside) > 5, "nobody else gets into their folder, so what they allow themselves does not matter"
    assert [place.name for place in made.keys() - inside if stat.S_IMODE(made[place]) & 0o077] == []
    for place in made:
        if place.exists():
            place.chmod(0o755 if place.is_dir() else 0o644)
    PrivateLibraries(data).settle()
    assert [
        each.name
        for each in (data, *data.glob("workspaces/*"), *data.glob("workspaces/*/*"))
        if each.stat().st_mode & 0o077
    ] == []
