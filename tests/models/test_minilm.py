"""The shipped embedding model: the Embedder contract on any text, alone or in company, whole or damaged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import ModelError
from crag.core.protocols import Embedder
from crag.models.minilm import FOLDER, MiniLM

ROOT = Path(__file__).resolve().parents[2]
MODEL = MiniLM(threads=2)
TEXTS = [
    "How is the weather?",
    "It is raining and cold outside.",
    "The balance sheet shows net revenues of 6,489 million dollars.",
    "The committee met. " * 30,
    "",
]


def test_it_is_an_embedder() -> None:
    assert isinstance(MODEL, Embedder)
    assert MODEL.dimension == 384
    assert json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["id"] == MODEL.id


def test_rows_are_unit_float32_in_the_order_given() -> None:
    vectors = MODEL.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert MODEL.embed([]).shape == (0, 384)


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    many = TEXTS + [f"{text} Number {number}." for number in range(30) for text in TEXTS[:3]]
    alone = np.concatenate([MODEL.embed([text]) for text in many])
    assert np.abs(MODEL.embed(many) - alone).max() < 1e-3
    assert np.abs(MODEL.embed(many[::-1])[::-1] - alone).max() < 1e-3


@pytest.mark.parametrize(
    "text",
    ["", " " * 50_000, "x" * 100_000, "word " * 20_000, "\ud800\udfff", "\x00\x01\x02" * 500, "漢字" * 3000, "🙂"],
)
def test_any_text_gives_the_same_unit_vector_every_time(text: str) -> None:
    first, second = MODEL.embed([text]), MODEL.embed([text])
    assert np.isclose(np.linalg.norm(first), 1, atol=1e-5)
    assert np.array_equal(first, second)


def test_only_the_first_256_tokens_count_and_control_tokens_are_plain_text() -> None:
    long = "alpha beta gamma " * 200
    assert np.abs(MODEL.embed([long]) - MODEL.embed([long + "something else entirely"])).max() < 1e-6
    empty, control, short = MODEL.embed(["", "[SEP]", "alpha"])
    assert abs(float(empty @ control)) < 0.9 and abs(float(empty @ short)) < 0.9


def test_two_threads_at_once_get_what_one_gets() -> None:
    expected = MODEL.embed(TEXTS)
    fresh = MiniLM(threads=1)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: fresh.embed(TEXTS), range(8)):
            assert np.abs(vectors - expected).max() < 1e-3


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_a_missing_or_damaged_file_is_named_with_a_remedy(tmp_path: Path, name: str, harm: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder)
    if harm == "missing":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes((folder / name).read_bytes()[:-7])
    with pytest.raises(ModelError) as caught:
        MiniLM(folder=folder).embed(["text"])
    assert "model" in caught.value.message
    assert "Restore" in caught.value.remedy


def test_another_models_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"id": "other", "sha256": {}}', encoding="utf-8")
    with pytest.raises(ModelError, match="other"):
        MiniLM(folder=tmp_path).embed(["text"])


def test_the_models_runtime_reports_to_nobody(tmp_path) -> None:
    """onnxruntime keeps what it would send to its maker in the home folder: nothing may be there."""
    code = (
        "from crag.models.minilm import MiniLM; from crag.evaluator.local import LocalEvaluator\n"
        "from crag.core.types import Passage\n"
        "MiniLM().embed(['a text'])\n"
        "list(LocalEvaluator(1).grade('Who?', [Passage(id='p', text='Nobody.')]))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    assert list(tmp_path.iterdir()) == []
