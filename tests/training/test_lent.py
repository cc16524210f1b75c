"""What travels to a machine that is lent, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from training.pair import Pair

pytest.importorskip("torch", reason="training's own requirements are not installed")
pytest.importorskip("onnx", reason="training's own requirements are not installed")

from training import lent
from training.bodies import BODIES
from training.packed import pack_pairs
from training.shipped_weights import shipped_weights

PAIRS = [
    Pair(f"Who designed bridge {number}?", f"Marta Keller designed bridge {number % 7}.", float(number < 7), "a", "one")
    for number in range(40)
]


def test_weights_to_begin_with_keep_the_words_that_are_used(tmp_path: Path) -> None:
    body, weights = BODIES["minilm"], shipped_weights()
    used = lent.list_used(body, {"a bridge", "Who?"})
    lent.save_start(weights, tmp_path / "start.npz", used, {"step": 7})
    read, about = lent.read_start(tmp_path / "start.npz", body)
    assert about == {"step": 7} and set(read) == set(weights)
    for name, value in weights.items():
        rows = used if name == lent.WORDS else slice(None)
        assert np.abs(read[name][rows] - value[rows]).max() <= 0.01 * np.abs(value).max(), name
    assert not read[lent.WORDS][5000:5010].any()


@pytest.mark.parametrize("half", [False, True])
def test_what_comes_back_is_cut_into_small_files(tmp_path: Path, half: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lent, "LARGEST", 500_000)
    dice = np.random.default_rng(1)
    state = {f"layers.{n}.up.weight": dice.normal(size=(384, 384)).astype(np.float32) for n in range(5)}
    lent.save_parts({**state, "words.weight": np.ones((9, 9), np.float32)}, tmp_path, "minilm", half=half)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1 and max(file.stat().st_size for file in files) < 510_000
    back = lent.read_parts(tmp_path, "minilm")
    assert set(back) == set(state)
    assert all(np.abs(back[name] - value).max() < 0.03 for name, value in state.items())


def test_training_there_writes_weights_that_differ_from_those_it_began_with(tmp_path: Path) -> None:
    pack_pairs([PAIRS], tmp_path / lent.PAIRS)
    lent.save_start(shipped_weights(), tmp_path / "minilm.npz", None, {"step": 3})
    options = ["--minutes", "9", "--steps", "12", "--tokens", "128", "--device", "cpu", "--workers", "0", "--half"]
    lent.main(["--folder", str(tmp_path), "train", "minilm", "--out", str(tmp_path / "out"), *options])
    back = lent.read_parts(tmp_path / "out", "minilm")
    began, _ = lent.read_start(tmp_path / "minilm.npz", BODIES["minilm"])
    moved = np.abs(back["layers.0.up.weight"] - began["encoder.layer.0.intermediate.dense.weight"])
    assert np.median(moved) > 1e-4 and moved.max() < 0.05
    assert "words.weight" not in back
    assert json.loads((tmp_path / "out" / "minilm.json").read_text())["step"] == 12
