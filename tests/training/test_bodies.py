"""Words put together from the pieces of the embedder's tokenizer."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="training's own requirements are not installed")

from training.bodies import E5Reader
from training.pair import Pair


@pytest.fixture(scope="module")
def reader() -> E5Reader:
    return E5Reader()


def roots(reader: E5Reader, text: str) -> list[str]:
    words = reader.words.words(reader.tokenizer.encode(text, add_special_tokens=False).ids)
    return list(dict.fromkeys(root for root in words.roots if root))


def test_a_word_is_one_whatever_stands_beside_it(reader: E5Reader) -> None:
    alone = roots(reader, "Umsatzerlöse")
    assert len(alone) == 1
    for text in ("Umsatzerlöse,", "(Umsatzerlöse)", "Die Umsatzerlöse.", "„Umsatzerlöse“"):
        assert alone[0] in roots(reader, text)
    assert set(roots(reader, "Keller")) <= set(roots(reader, "What was Keller's plan?"))


def test_a_pair_is_read_with_marks_of_what_it_shares(reader: E5Reader) -> None:
    pair = Pair("Wer baute die Brücke?", "Die Brücke baute Marta Keller.", 1.0, "g", "all", spots=((17, 29),))
    [sample] = reader.read([pair])
    text = reader.tokenizer.decode(sample.ids[sample.start : sample.end + 1])
    assert text.replace("\u2581", " ").split() == ["Marta", "Keller"]
    assert sample.ids[0] == reader.cls and sample.ids[-1] == reader.sep
    assert len(set(sample.kinds)) > 3
