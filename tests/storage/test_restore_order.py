"""Restores put aside what was there; the latest comes back first, whatever the clock says."""

from pathlib import Path

from crag.storage.data_dir import RESTORING, put_back, swap


def restore(data: Path, content: str) -> None:
    (data / RESTORING).mkdir()
    (data / RESTORING / "settings.json").write_text(content)
    swap(data, {"settings.json": True})


def test_the_latest_restore_is_undone_though_the_clock_was_set_back(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("first")
    restore(tmp_path, "second")
    (earlier,) = tmp_path.glob("before-*")
    earlier.rename(tmp_path / "before-20991231T235959000000")
    restore(tmp_path, "third")
    put_back(tmp_path)
    assert (tmp_path / "settings.json").read_text() == "second"
