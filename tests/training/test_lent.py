"""What travels to a machine that is lent, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from training.pair import Pair, held_out

torch = pytest.importorskip("torch", reason="training's own requirements are not installed")
pytest.importorskip("onnx", reason="training's own requirements are not installed")

from training import lent  # noqa: E402
from training.bodies import BODIES  # noqa: E402
from training.packed import pack_pairs  # noqa: E402
from training.shipped_weights import shipped_weights  # noqa: E402
from training.soups import write_held_out  # noqa: E402
from training.weak_points import Met, WeakPoints  # noqa: E402

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


def test_an_epoch_has_all_mined_pairs_and_as_many_others_as_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Numbers:
        def __init__(self, count: int) -> None:
            self.count, self.asked = count, list[int]()

        def epoch(self, seed: int) -> list[Pair]:
            self.asked.append(seed)
            return [Pair("?", f"{seed} {n}", 0.0, f"{n}", "one") for n in range(self.count)]

    monkeypatch.setattr(lent, "FIRST", 10)
    first, mined = Numbers(30), Numbers(5)
    epochs = list(lent.draw_epochs(first, mined, 5))
    assert [len(each) for each in epochs] == [15] * 5
    assert len({pair.text for each in epochs for pair in each[5:]}) == 50
    assert len(first.asked) == 2 and not any(held_out(pair.group) for each in epochs for pair in each[5:])


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


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder as it is on the lent machine once two sets of weights are trained there."""
    pack_pairs([PAIRS], tmp_path / lent.PAIRS)
    write_held_out(
        {"one": PAIRS},
        WeakPoints([Met(PAIRS[0], tuple(replace(each, title="Bridges") for each in PAIRS[8:12]))], ()),
        tmp_path / lent.HELD,
    )
    lent.save_start(shipped_weights(), tmp_path / "minilm.npz", None, {})
    options = ["--minutes", "9", "--steps", "4", "--tokens", "128", "--device", "cpu", "--workers", "0"]
    for name in ("minilm", "soft"):
        lent.main(["--folder", str(tmp_path), "train", name, "--out", str(tmp_path / "out"), *options])
    return tmp_path


def test_the_average_that_held_out_documents_choose_comes_back(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lent, "CHOSEN_BY", ("mean", "same document"))
    monkeypatch.setattr(lent, "SHOWN", ("mean",))
    lent.main(["--folder", str(trained), "blend", "minilm", "soft", "--device", "cpu", "--out", str(trained / "out")])
    about = json.loads((trained / "out" / "blend.json").read_text())
    assert sum(about["shares"].values()) == pytest.approx(1.0) and about["step"] == 8
    assert {"shares": {"ships": 1.0}}.items() <= about["tried"][0].items() and len(about["tried"]) > 5
    value = [each["mean"] + each["same document"] for each in about["tried"]]
    assert about["tried"][value.index(max(value))]["shares"] == about["shares"]
    back = lent.read_parts(trained / "out", "blend")
    assert set(back) == set(lent.read_parts(trained / "out", "minilm"))
