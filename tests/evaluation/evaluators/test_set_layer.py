"""How likely all retrieved texts together answer: what is read of them, and the layer that weighs that."""

from dataclasses import replace
from pathlib import Path

import pytest

from crag.core.protocols import SetGrader
from crag.core.types import GradedText, SetReadings
from crag.evaluation.heads import SET_FEATURES, Layer, Lexicon, load_layer, read_set, set_features
from crag.evaluation.local import LocalEvaluator
from crag.models.cross_encoder import Reading
from crag.text.words import stem
from tests.support.local_models import with_layer

LEXICON = Lexicon(100, {"tower": 20, "built": 40, "paris": 1})
TOWER = "The tower\nIt was built in 1889 in Paris."
QUESTION = "When was the tower built?"


def read(text: str, words: str) -> tuple[str, Reading]:
    start = text.index(words)
    return text, Reading(relevance=2.0, span=4.0, closeness=0.5, start=start, end=start + len(words), tokens=20)


def readings(question: str = QUESTION, *others: tuple[str, str]) -> SetReadings:
    best = [(TOWER, "1889"), *others]
    texts = [GradedText(text=text, score=0.8 - place / 10) for place, (text, _) in enumerate(best)]
    return read_set(question, texts, [read(*each) for each in best], LEXICON)


def test_one_text_that_has_every_word() -> None:
    found = readings()
    assert (found.best, found.agreeing, found.covered, found.absent, found.years) == (0.8, 0, 1.0, (), ())
    assert (found.years_asked, found.closeness, found.words, found.rank) == (0, 0.5, 1, 0)


def test_the_best_text_s_place_in_the_search_counts() -> None:
    texts = [GradedText(text=text, score=score) for text, score in (("Other.", 0.1), (TOWER, 0.8))]
    found = read_set(QUESTION, texts, [read(TOWER, "1889")], LEXICON)
    layer = load_layer("sets", SET_FEATURES)
    assert found.rank == 1 and layer
    assert layer.chance(set_features(found)) < layer.chance(set_features(replace(found, rank=0)))


def test_years_that_no_text_has_are_named_once() -> None:
    found = readings("Was the tower built in 1889, in 1903 or in 1903?")
    assert (found.years, found.years_asked) == (("1903",), 2)
    assert set_features(found)[SET_FEATURES.index("years_unmet")] == 0.5
    assert set_features(readings())[SET_FEATURES.index("years_unmet")] == 0.0


@pytest.mark.parametrize("question", ["塔はいつ建てられましたか", "Когда была построена башня?", "؟ 🗼", "!?"])
def test_questions_in_other_scripts_are_read(question: str) -> None:
    found = readings(question)
    assert 0.0 <= found.covered <= 1.0
    assert all(word in question for word in found.absent)
    assert len(set_features(found)) == len(SET_FEATURES)


def test_scores_at_the_ends_can_be_weighed() -> None:
    layer = Layer(tuple(float(name == "best") for name in SET_FEATURES), 0.0)
    low, high = (layer.chance(set_features(replace(readings(), best=score))) for score in (0.0, 1.0))
    assert 0.0 < low < 0.01 < 0.99 < high < 1.0


def test_words_count_where_one_text_has_more_of_them_than_the_others() -> None:
    def keywords(question: str, *texts: str) -> float:
        graded = [GradedText(text=text, score=0.5) for text in (TOWER, *texts)]
        return read_set(question, graded, [read(TOWER, "1889")], LEXICON).keywords

    assert keywords(QUESTION) == keywords(QUESTION, TOWER) == 0.0
    assert keywords(QUESTION, "Bread.") == pytest.approx(sum(map(LEXICON.rarity, map(stem, ("tower", "built")))) / 2)
    assert keywords(QUESTION, "Bread.") > keywords(QUESTION, "It was built.") > 0.0


def test_how_large_the_library_is_says_nothing() -> None:
    """A question of one short document has the score that it has among others about something else."""
    layer = load_layer("sets", SET_FEATURES)
    assert layer

    def chance(*others: str) -> float:
        graded = [GradedText(text=text, score=0.35 if text == TOWER else 0.02) for text in (TOWER, *others)]
        return layer.chance(set_features(read_set(QUESTION, graded, [read(TOWER, "1889")], LEXICON)))

    assert chance() > 0.2 and abs(chance() - chance(*["Bread is baked daily."] * 9)) < 0.3


TEXTS = [GradedText(text=TOWER, score=0.8)]


def test_without_a_layer_a_model_or_a_text_there_is_no_score(tmp_path: Path) -> None:
    with_layer(tmp_path, "sets", None)
    assert LocalEvaluator(folder=tmp_path / "model").grade_set(QUESTION, TEXTS) is None
    assert LocalEvaluator(folder=tmp_path / "none").grade_set(QUESTION, TEXTS) is None
    assert LocalEvaluator().grade_set(QUESTION, []) is None


def test_the_local_evaluator_grades_sets() -> None:
    evaluator = LocalEvaluator(threads=1)
    assert isinstance(evaluator, SetGrader)
    asked, later = (evaluator.grade_set(f"When was the tower built{end}?", TEXTS) for end in ("", " again in 1931"))
    assert asked is not None and later is not None
    assert later.readings.years == ("1931",)
    assert 0.0 <= later.score < asked.score <= 1.0
    assert evaluator.grade_set(QUESTION, [GradedText(text="", score=0.0)]) is None
