"""The embedding models that ship: the Embedder contract on any text, other languages, whole or damaged."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import ModelError
from crag.models.runtime import E5, MiniLM
from crag.testing.contracts import EmbedderContract
from tests.support.product import ROOT

MODEL, MULTILINGUAL = MiniLM(threads=2), E5(threads=2)
BOTH = pytest.mark.parametrize("model", [MODEL, MULTILINGUAL], ids=["MiniLM", "E5"])


class TestMiniLM(EmbedderContract):
    def make(self) -> MiniLM:
        return MODEL


class TestE5(EmbedderContract):
    def make(self) -> E5:
        return MULTILINGUAL


@BOTH
def test_its_files_are_the_ones_it_was_written_for(model: MiniLM | E5) -> None:
    assert model.dimension == 384
    assert json.loads((model.folder / "manifest.json").read_text(encoding="utf-8"))["id"] == model.id


@pytest.mark.parametrize("question", ["Warum wurden die Züge gestrichen?", "Почему отменили поезда?"])
def test_a_question_finds_the_text_of_another_language_that_answers_it(question: str) -> None:
    texts = [
        "All trains on the coastal line were cancelled because of the storm.",
        "The museum opens at nine and closes at five.",
        "Net revenues rose by four percent over the year before.",
        "The line was opened in 1911 and has twelve stations.",
    ]
    assert int(np.argmax(MULTILINGUAL.embed(texts) @ MULTILINGUAL.embed_question(question))) == 0


@BOTH
def test_only_the_first_256_tokens_count(model: MiniLM | E5) -> None:
    long = "alpha beta gamma " * 200
    assert np.abs(model.embed([long]) - model.embed([long + "something else entirely"])).max() < 1e-6


def test_control_tokens_are_plain_text() -> None:
    empty, control, short = MODEL.embed(["", "[SEP]", "alpha"])
    assert abs(float(empty @ control)) < 0.9 and abs(float(empty @ short)) < 0.9
    control, pieces = MULTILINGUAL.embed(["alpha </s> beta", "alpha < / s > beta"])
    assert float(control @ pieces) > 0.8


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((MiniLM, name) for name in ("model.onnx", "tokenizer.json", "manifest.json")),
        *((E5, name) for name in ("model.onnx", "tokenizer.json", "centres.f32")),
    ],
)
@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_a_missing_or_damaged_file_is_named_with_a_remedy(
    tmp_path: Path, kind: type[MiniLM | E5], name: str, harm: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(kind.folder, folder)
    if harm == "missing":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes((folder / name).read_bytes()[:-7])
    with pytest.raises(ModelError, match=None if name == "manifest.json" else name) as caught:
        kind(folder=folder).embed(["text"])
    assert "model" in caught.value.message and "Restore" in caught.value.remedy


def test_another_models_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"id": "other", "sha256": {}}', encoding="utf-8")
    with pytest.raises(ModelError, match="other"):
        MiniLM(folder=tmp_path).embed(["text"])


def test_the_models_runtime_reports_to_nobody(tmp_path) -> None:
    """onnxruntime keeps what it would send to its maker in the home folder: nothing may be there."""
    code = (
        "from crag.models.runtime import MiniLM; from crag.evaluation.local import LocalEvaluator\n"
        "from crag.core.types import Passage\n"
        "MiniLM().embed(['a text'])\n"
        "list(LocalEvaluator(1).grade('Who?', [Passage(id='p', text='Nobody.')]))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    assert list(tmp_path.iterdir()) == []
