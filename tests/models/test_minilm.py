"""The shipped embedding model: the Embedder contract on any text, alone or in company, whole or damaged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import ModelError
from crag.models.runtime import MiniLM
from crag.testing.contracts import EmbedderContract

ROOT = Path(__file__).resolve().parents[2]
MODEL = MiniLM(threads=2)


class TestMiniLM(EmbedderContract):
    def make(self) -> MiniLM:
        return MODEL


def test_its_files_are_the_ones_it_was_written_for() -> None:
    assert MODEL.dimension == 384
    assert json.loads((MiniLM.folder / "manifest.json").read_text(encoding="utf-8"))["id"] == MODEL.id


def test_only_the_first_256_tokens_count_and_control_tokens_are_plain_text() -> None:
    long = "alpha beta gamma " * 200
    assert np.abs(MODEL.embed([long]) - MODEL.embed([long + "something else entirely"])).max() < 1e-6
    empty, control, short = MODEL.embed(["", "[SEP]", "alpha"])
    assert abs(float(empty @ control)) < 0.9 and abs(float(empty @ short)) < 0.9


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_a_missing_or_damaged_file_is_named_with_a_remedy(tmp_path: Path, name: str, harm: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MiniLM.folder, folder)
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
        "from crag.models.runtime import MiniLM; from crag.evaluation.local import LocalEvaluator\n"
        "from crag.core.types import Passage\n"
        "MiniLM().embed(['a text'])\n"
        "list(LocalEvaluator(1).grade('Who?', [Passage(id='p', text='Nobody.')]))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    assert list(tmp_path.iterdir()) == []
