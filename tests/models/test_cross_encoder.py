"""The shipped cross-encoder: what it is given, long and odd texts, neighbours, and files that are not its own."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import ModelError
from crag.models.cross_encoder import (
    FOLDER,
    KEPT_CLIP,
    KINDS,
    MAX_PAIR,
    MODEL_ID,
    CrossEncoder,
    Reading,
    WordReader,
    Words,
    cut_question,
    paired,
)
from tests.support.sizes import ALL

MODEL = CrossEncoder(threads=2)
QUESTION = "Who designed the old bridge?"
ANSWER = "The old bridge was designed by Marta Keller and opened in 1902."
FILLER = "The committee met on Monday and talked about the budget of the town. "


def test_its_files_fit_in_35_megabytes() -> None:
    listed = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    assert listed["id"] == MODEL_ID
    assert sum((FOLDER / name).stat().st_size for name in listed["sha256"]) < 35_000_000


def test_a_reading_does_not_depend_on_its_neighbours() -> None:
    texts = [ANSWER, FILLER, FILLER * 3, ANSWER + " " + FILLER, "1902", FILLER * 40]
    together = MODEL.read(QUESTION, texts * 2)
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


ODD_TEXTS = ["🙂", "x" * 100_000, "\ud800 word " * 900, "漢字" * 3000, "[CLS] [SEP]", "7" * 400]
ODD_QUESTIONS = ["?", "\x00", "why " * 2000, QUESTION]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "text"),
    [
        (question, text)
        for place, question in enumerate(ODD_QUESTIONS)
        for number, text in enumerate(ODD_TEXTS)
        if ALL or number in (0, place, place + 2)
    ],
)
def test_any_text_and_question_give_the_same_finite_numbers_every_time(question: str, text: str) -> None:
    first, second = MODEL.read(question, [text]), MODEL.read(question, [text])
    assert first == second
    if first[0] is not None and second[0] is not None:
        assert abs(first[0].relevance) + abs(first[0].span) < 1e4
        assert np.array_equal(first[0].keep, second[0].keep)
        assert np.isfinite(first[0].keep).all() and len(first[0].keep) == len(first[0].places)


def test_every_token_of_a_long_text_is_read_for_evidence() -> None:
    title = "The bridge"
    text = f"{title}\n" + FILLER * 60 + ANSWER + " " + FILLER * 30
    [reading] = MODEL.read(QUESTION, [text])
    assert reading is not None
    assert [text[a:b] for a, b in reading.places[:2]] == ["The", "bridge"] and reading.titled == 2
    assert len(reading.keep) == len(reading.places) > 3 * MAX_PAIR
    assert (reading.places[1:, 0] >= reading.places[:-1, 1]).all()
    assert reading.places[-1].tolist() == [len(text.rstrip()) - 1, len(text.rstrip())]
    assert (reading.keep != 0).all()
    at = text.index(ANSWER)
    around = [reading.kept(start, start + len(FILLER)) for start in range(len(title) + 1, at, len(FILLER))]
    assert reading.kept(at, at + len(ANSWER)) > max(around)


def test_a_sentence_of_a_short_text_is_judged_beside_its_neighbours() -> None:
    text = FILLER + ANSWER + " " + FILLER
    [reading] = MODEL.read(QUESTION, [text])
    assert reading is not None
    at = text.index(ANSWER)
    assert reading.kept(at, at + len(ANSWER)) > reading.kept(0, len(FILLER)) + 1


def evidence(*logits: float, titled: int = 0) -> Reading:
    """A reading of a text whose every word is "word"."""
    places = np.array([(5 * number, 5 * number + 4) for number in range(len(logits))], np.int32)
    return Reading(0.0, 0.0, 0.0, 0, 1, len(logits), np.array(logits, np.float32), places, titled)


def test_a_span_s_evidence_is_the_mean_probability_of_its_tokens() -> None:
    reading = evidence(-2.0, 2.0, 2.0, -11.0)
    assert reading.kept(5, 9) == pytest.approx(2.0)
    assert reading.kept(0, 9) == pytest.approx(0.0)  # a half and a half
    assert reading.kept(7, 13) == pytest.approx(2.0)  # tokens that are in it in part
    assert reading.kept(5, 19) == pytest.approx(
        math.log(0.5872 / 0.4128), abs=1e-3
    )  # two of three, not their mean -2.3
    assert evidence(90.0, -90.0).kept(0, 4) == pytest.approx(KEPT_CLIP)


@pytest.mark.parametrize("span", [(3, 3), (9, 5), (4, 5), (40, 90), (-9, 0)])
def test_a_span_without_a_token_is_no_evidence(span: tuple[int, int]) -> None:
    assert evidence(5.0, 5.0, 5.0).kept(*span) == -KEPT_CLIP


PIECES = ["the", "bridge", "?", "design", "##ed", "zu", "##ber", "s", "7", "designer", "19", "##02"]
WORDS = WordReader(PIECES.__getitem__)


def read(*pieces: str) -> Words:
    return WORDS.words([PIECES.index(piece) for piece in pieces])


def test_kinds_tell_which_whole_words_question_and_passage_share() -> None:
    question = read("the", "designer", "zu", "##ber", "bridge", "19", "##02", "?")
    passage = read("zu", "##ber", "the", "bridge", "design", "##ed", "zu", "7")
    ids, kinds = paired(question, passage, 2, cls=101, sep=102)
    assert ids == [101, *question.ids, 102, *passage.ids, 102]
    named = [KINDS[kind].split(", ", 1)[-1] for kind in kinds]
    assert named[1:9] == [
        *("question", "ordinary word, in the passage", "rare word, in the passage", "rare word, in the passage"),
        *("ordinary word, in the passage", "number word, not in the passage", "number word, not in the passage"),
        "question",
    ]
    assert [KINDS[kind] for kind in kinds[10:]] == [
        *("title rare word of the question",) * 2,
        *("passage", "passage ordinary word of the question"),
        *("passage rare word of the question",) * 2,  # "designed" is of two pieces here, and of the same stem
        *("passage", "passage", "passage"),  # "zu" alone is another word than "zuber"
    ]


def test_a_pair_is_cut_to_what_the_model_can_read() -> None:
    assert len(paired(read(*["zu"] * 100), read(*["bridge"] * 900), 0, 101, 102)[0]) == MAX_PAIR


def test_stop_words_punctuation_and_single_letters_are_never_shared_words() -> None:
    assert read("the", "?", "s", "7", "bridge").classes == [0, 0, 0, 3, 1]


def test_every_window_of_a_long_text_is_read_under_its_title() -> None:
    """The title names the subject; a window far behind it would else be about nobody."""
    body = FILLER * 60 + "The architect was Marta Keller and it opened in 1902. " + FILLER * 30
    [named, other] = MODEL.read(QUESTION, [f"Old bridge\n{body}", f"New theatre\n{body}"])
    assert named is not None and other is not None
    assert named.relevance > other.relevance


def test_of_a_long_question_both_ends_are_read() -> None:
    assert cut_question(range(100)) == list(range(100))
    found = cut_question(range(1000))
    assert len(found) == 128 and found[0] == 0 and found[-1] == 999


def test_another_models_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"id": "other", "sha256": {}}), encoding="utf-8")
    with pytest.raises(ModelError, match="other"):
        CrossEncoder(folder=tmp_path).read(QUESTION, [ANSWER])
