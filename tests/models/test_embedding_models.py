"""The embedding model that ships: the Embedder contract on any text, every script, whole or damaged."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crag.core.errors import ModelError
from crag.models.runtime import E5, FEW, WordPieces
from crag.testing.contracts import EmbedderContract
from tests.support.product import ROOT

MODEL = E5(threads=2)


class TestE5(EmbedderContract):
    def make(self) -> E5:
        return MODEL


def test_its_files_are_the_ones_it_was_written_for_and_fit_where_code_is_kept() -> None:
    listed = json.loads((E5.folder / "manifest.json").read_text(encoding="utf-8"))
    assert listed["id"] == E5.id
    assert max((E5.folder / name).stat().st_size for name in listed["sha256"]) < 95_000_000


@pytest.mark.parametrize(
    "question",
    [
        "Warum wurden die Züge gestrichen?",
        "Почему отменили поезда?",
        "为什么火车被取消了？",
        "なぜ電車は運休になったのですか？",
        "لماذا ألغيت القطارات؟",
        "למה בוטלו הרכבות?",
        "ट्रेनें क्यों रद्द कर दी गईं?",
        "ทำไมรถไฟถึงถูกยกเลิก",
        "기차가 왜 취소되었나요?",
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


@cache
def pieces(which: str) -> WordPieces:
    """The vocabulary for one of two ways of reading."""
    return WordPieces((E5.folder / "tokenizer.json").read_bytes(), 12)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=3))
@example(["\\" + '"', '\\\\ \\" "', "a\u2581b", "\x00\x7f\ud800", "</s><mask>", "\ufb01 \u2460", "3.5 %?"])
@example(["Warum wurden die Züge gestrichen?", "なぜ電車は運休になったのですか？", "ทำไมรถไฟถึงถูกยกเลิก"])
def test_a_few_texts_are_read_as_by_the_whole_vocabulary(texts: list[str]) -> None:
    part, whole = pieces("part"), pieces("whole")
    assert part.read(texts) == whole.read([*texts, "long " * FEW])[:-1]
    assert part.encode(texts) == whole.encode(texts)


def test_only_the_first_256_tokens_count() -> None:
    long = "alpha beta gamma " * 200
    assert np.abs(MODEL.embed([long]) - MODEL.embed([long + "something else entirely"])).max() < 1e-6


def test_control_tokens_are_plain_text() -> None:
    control, pieces = MODEL.embed(["alpha </s> beta", "alpha < / s > beta"])
    assert float(control @ pieces) > 0.8


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "centres.f32", "manifest.json"])
@pytest.mark.parametrize("harm", ["missing", "changed"])
def test_a_missing_or_damaged_file_is_named_with_a_remedy(tmp_path: Path, name: str, harm: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(E5.folder, folder, copy_function=os.symlink)
    (folder / name).unlink()
    if harm == "changed":
        (folder / name).write_bytes((E5.folder / name).read_bytes()[:-7])
    with pytest.raises(ModelError, match=None if name == "manifest.json" else name) as caught:
        E5(folder=folder).embed(["text"])
    assert "model" in caught.value.message and "Restore" in caught.value.remedy


def test_another_models_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"id": "other", "sha256": {}}', encoding="utf-8")
    with pytest.raises(ModelError, match="other"):
        E5(folder=tmp_path).embed(["text"])


def test_the_models_runtime_reports_to_nobody(tmp_path) -> None:
    """onnxruntime keeps what it would send to its maker in the home folder: nothing may be there."""
    code = (
        "from crag.models.runtime import E5; from crag.evaluation.local import LocalEvaluator\n"
        "from crag.core.types import Passage\n"
        "E5().embed(['a text'])\n"
        "list(LocalEvaluator(1).grade('Who?', [Passage(id='p', text='Nobody.')]))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    assert list(tmp_path.iterdir()) == []
