"""Checkpoints that are cut off, and weights that travel."""

import json
from pathlib import Path

import numpy as np
import pytest

from training.checkpoints import quantize, read_newest, renew, restore


def whole(path: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(path.read_bytes())
    return found


def keep(path: Path, step: int) -> None:
    renew(path, lambda part: part.write_text(json.dumps({"step": step}), encoding="utf-8") and None)


def test_the_newest_whole_checkpoint_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "state.pt"
    assert read_newest(path, whole) is None
    for step in (1, 2, 3):
        keep(path, step)
    assert read_newest(path, whole) == {"step": 3} and not capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:5])
    assert read_newest(path, whole) == {"step": 2}
    assert "state.pt is cut off or damaged" in capsys.readouterr().out
    keep(path, 4)
    assert read_newest(path, whole) == {"step": 4}


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "state.pt"
    keep(path, 1)

    def fail(part: Path) -> None:
        part.write_bytes(b"{")
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        renew(path, fail)
    assert read_newest(path, whole) == {"step": 1}


def test_weights_that_travel_are_small_and_close() -> None:
    given = np.random.default_rng(4).normal(size=(1536, 384)).astype(np.float32)
    stored = quantize({"layers.0.up.weight": given})
    assert sum(each.nbytes for each in stored.values()) < 1.1 * given.size
    back = restore(stored)["layers.0.up.weight"]
    assert (np.abs(given - back) <= np.abs(given).max(axis=1, keepdims=True) / 253).all()
    assert np.corrcoef(given.ravel(), back.ravel())[0, 1] > 0.99998
