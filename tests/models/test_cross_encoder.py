"""The shipped cross-encoder: what it is given, long and odd texts, neighbours, and files that are not its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crag.core.errors import ModelError
from crag.models.cross_encoder import FOLDER, MODEL_ID, CrossEncoder
from crag.models.pairing import MAX_PAIR, content_tokens, cut_question, paired

MODEL = CrossEncoder(threads=2)
QUESTION = "Who designed the old bridge?"
ANSWER = "The old bridge was designed by Marta Keller and opened in 1902."
FILLER = "The committee met on Monday and talked about the budget of the town. "


def test_its_files_fit_in_35_megabytes() -> None:
    listed = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    assert listed["id"] == MODEL_ID
    assert sum((FOLDER / name).stat().st_size for name in listed["sha256"]) < 35_000_000


def test_a_reading_points_at_the_answer() -> None:
    [reading] = MODEL.read(QUESTION, [ANSWER])
    assert reading is not None
    assert "Keller" in ANSWER[reading.start : reading.end]


def test_an_answer_late_in_a_long_text_is_found() -> None:
    text = FILLER * 60 + ANSWER + " " + FILLER * 30
    [long, without] = MODEL.read(QUESTION, [text, FILLER * 90])
    assert long is not None and without is not None
    assert "Keller" in text[long.start : long.end]
    assert long.relevance > without.relevance + 1


def test_a_reading_does_not_depend_on_its_neighbours() -> None:
    texts = [ANSWER, FILLER, FILLER * 3, ANSWER + " " + FILLER, "1902", FILLER * 40]
    together = MODEL.read(QUESTION, texts * 3)
    for place, text in enumerate(texts):
        [alone] = MODEL.read(QUESTION, [text])
        assert alone is not None
        for found in together[place :: len(texts)]:
            assert found is not None
            assert found.relevance == pytest.approx(alone.relevance, abs=1e-3)
            assert (found.start, found.end) == (alone.start, alone.end)


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\x07"])
def test_a_text_without_a_token_has_no_reading(text: str) -> None:
    assert MODEL.read(QUESTION, [text, ANSWER])[0] is None
    assert MODEL.read(QUESTION, []) == []


@pytest.mark.parametrize("text", ["x" * 100_000, "\ud800 word " * 900, "漢字" * 3000, "🙂", "[CLS] [SEP]", "7" * 400])
@pytest.mark.parametrize("question", [QUESTION, "?", "\x00", "why " * 2000])
def test_any_text_and_question_give_the_same_finite_numbers_every_time(question: str, text: str) -> None:
    first, second = MODEL.read(question, [text]), MODEL.read(question, [text])
    assert first == second
    assert first[0] is None or abs(first[0].relevance) + abs(first[0].span) < 1e4


def test_kinds_mark_the_words_that_question_and_passage_share() -> None:
    ids, kinds = paired([5, 6, 7], [6, 8, 5, 9], frozenset({6, 8, 9}), cls=1, sep=2)
    assert ids == [1, 5, 6, 7, 2, 6, 8, 5, 9, 2]
    assert kinds == [0, 0, 1, 0, 0, 3, 2, 2, 2, 2]
    assert len(paired([5] * 100, [6] * 900, frozenset(), 1, 2)[0]) == MAX_PAIR


def test_stop_words_and_punctuation_are_never_shared_words() -> None:
    found = content_tokens({"the": 1, "bridge": 2, "?": 3, "##ler": 4, "##s": 5, "x": 6, "7": 7, "##9": 8, "[SEP]": 9})
    assert found == {2, 4, 7, 8}


def test_of_a_long_question_both_ends_are_read() -> None:
    assert cut_question(range(100)) == list(range(100))
    found = cut_question(range(1000))
    assert len(found) == 128 and found[0] == 0 and found[-1] == 999


def test_another_models_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"id": "other", "sha256": {}}), encoding="utf-8")
    with pytest.raises(ModelError, match="other"):
        CrossEncoder(folder=tmp_path).read(QUESTION, [ANSWER])
