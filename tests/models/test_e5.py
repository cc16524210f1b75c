"""The multilingual embedding model: the Embedder contract, questions, other languages, whole or damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import ModelError
from crag.models.runtime import E5
from crag.testing.contracts import EmbedderContract

MODEL = E5(threads=2)
pytestmark = pytest.mark.skipif(
    not (E5.folder / "model.onnx").exists(), reason="the multilingual model is not here: python -m training.export_e5"
)


class TestE5(EmbedderContract):
    def make(self) -> E5:
        return MODEL


def test_its_files_are_the_ones_it_was_written_for() -> None:
    assert MODEL.dimension == 384
    assert json.loads((E5.folder / "manifest.json").read_text(encoding="utf-8"))["id"] == MODEL.id


@pytest.mark.parametrize(
    "question",
    [
        "Warum wurden die Züge gestrichen?",
        "Почему отменили поезда?",
    ],
)
def test_a_question_finds_the_text_of_another_language_that_answers_it(question: str) -> None:
    texts = [
        "All trains on the coastal line were cancelled because of the storm.",
        "The museum opens at nine and closes at five.",
        "Net revenues rose by four percent over the year before.",
        "The line was opened in 1911 and has twelve stations.",
    ]
    assert int(np.argmax(MODEL.embed(texts) @ MODEL.embed_question(question))) == 0


def test_only_the_first_256_tokens_count_and_control_tokens_are_plain_text() -> None:
    long = "alpha beta gamma " * 200
    assert np.abs(MODEL.embed([long]) - MODEL.embed([long + "something else entirely"])).max() < 1e-6
    control, pieces = MODEL.embed(["alpha </s> beta", "alpha < / s > beta"])
    assert float(control @ pieces) > 0.8


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "centres.f32"])
def test_a_damaged_file_is_named_with_a_remedy(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(E5.folder, folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:-7])
    with pytest.raises(ModelError, match=name) as caught:
        E5(folder=folder).embed(["text"])
    assert "Restore" in caught.value.remedy
