"""Checkpoints that are cut off, the carried one, and the time for which a run was stopped."""

import json
from pathlib import Path

import numpy as np
import pytest

from training.checkpoints import carry, read_carried, read_newest, renew


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


def weights() -> dict[str, np.ndarray]:
    dice = np.random.default_rng(4)
    return {
        "words.weight": dice.normal(size=(500, 384)).astype(np.float32),
        "layers.0.up.weight": dice.normal(size=(1536, 384)).astype(np.float32),
        "layers.0.up.bias": dice.normal(size=1536).astype(np.float32),
    }


def test_the_carried_checkpoint_is_small_and_close(tmp_path: Path) -> None:
    given, path = weights(), tmp_path / "carried" / "leg.npz"
    size = carry(given, {"step": 7, "place": [1, 2, 3]}, path)
    assert size == path.stat().st_size < 1.1 * 1536 * 384 + 30_000
    found = read_carried(path)
    assert found is not None and found.about == {"step": 7, "place": [1, 2, 3]}
    assert set(found.weights) == {"layers.0.up.weight", "layers.0.up.bias"}
    assert np.array_equal(found.weights["layers.0.up.bias"], given["layers.0.up.bias"])
    whole, back = given["layers.0.up.weight"], found.weights["layers.0.up.weight"]
    assert (np.abs(whole - back) <= np.abs(whole).max(axis=1, keepdims=True) / 253).all()
    assert np.corrcoef(whole.ravel(), back.ravel())[0, 1] > 0.99998


def test_a_carried_checkpoint_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "leg.npz"
    assert read_carried(path) is None
    carry(weights(), {"step": 7}, path)
    content = path.read_bytes()
    for kept in (0, 4, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:kept])
        with pytest.raises(ValueError, match="take it from git again"):
            read_carried(path)
