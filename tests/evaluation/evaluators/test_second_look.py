"""The second look at a passage: its likeliest sentence by itself; and what is judged in other languages."""

import math

import pytest

from crag.core.types import Passage, QuotedAnswer
from crag.evaluation.heads import load_head
from crag.evaluation.local import LocalEvaluator
from crag.evaluation.second_look import crosses_languages, is_english
from tests.support.local_models import parts

LEXICON = load_head()[1]
EVALUATOR: LocalEvaluator = parts()["evaluator"]
BENEFITS = (
    "Benefits\nThe average premium increase that was negotiated for 2020 was 4.0 percent. "
    "In 2018 the programme moved its main office to Boston."
)


def score(question: str, text: str) -> float:
    [grade] = EVALUATOR.grade(question, [Passage(id="p", text=text)])
    assert grade.score is not None
    return grade.score


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("What average premium increase was negotiated?", True),
        ("Wie hoch war die durchschnittliche Erhöhung der Beiträge?", False),
        ("Каково было среднее повышение?", False),
        ("ما هو متوسط الزيادة؟", False),
        ("2019 %", True),
    ],
)
def test_english_is_told_from_other_languages(text: str, english: bool) -> None:
    assert is_english(text, LEXICON) is is_english(text, LEXICON, english) is english


@pytest.mark.parametrize("text", ["Deborah Agnesia Wulandari\nEvan Huang", "© 2025 LangChain, Inc", "socks 4"])
@pytest.mark.parametrize("asked", [True, False])
def test_names_and_few_words_are_supposed_in_the_language_of_the_question(text: str, asked: bool) -> None:
    assert is_english(text, LEXICON, asked) is asked


@pytest.mark.parametrize(
    ("said", "of_english", "of_german"),
    [
        ("In 2019 hiring took 98 days on average, more than the 77 days of the year before.", False, True),
        ("Die Einstellung dauerte 2019 durchschnittlich 98 Tage, deutlich länger als im Vorjahr.", True, False),
        ("En 2019, le recrutement a duré en moyenne 98 jours, soit plus que l'année précédente.", True, False),
        ("招聘平均需要九十八天，比前一年的七十七天更长。", True, False),
        ("98 days [1].", False, False),
        ("Washington, Boston, Denver, Atlanta, Chicago, Dallas, Philadelphia", False, False),
    ],
)
def test_a_text_whose_question_alone_is_english_is_told(said: str, of_english: bool, of_german: bool) -> None:
    assert crosses_languages("How long did hiring take in 2019?", said, LEXICON) is of_english
    assert crosses_languages("Wie lange dauerte eine Einstellung im Jahr 2019?", said, LEXICON) is of_german


def test_a_year_that_stands_elsewhere_in_the_passage_is_not_the_one_that_is_answered() -> None:
    asked = "What average premium increase was negotiated for {}?"
    right, swapped = (score(asked.format(year), BENEFITS) for year in (2020, 2018))
    assert right > 0.7
    assert swapped < 0.5


def test_the_reason_names_both_years() -> None:
    [grade] = EVALUATOR.grade(
        "What average premium increase was negotiated for 2018?", [Passage(id="p", text=BENEFITS)]
    )
    assert grade.reason is not None
    assert "about 2020" in grade.reason and "about 2018" in grade.reason


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            "Wie viele Einwohner hat die Stadt Bergen?",
            "Bergen ist eine Stadt im Westen Norwegens. Sie hat etwa 290.000 Einwohner und einen großen Hafen.",
            "Der Hafen von Turin wurde nie gebaut, weil die Stadt nicht am Meer liegt. Sie hat viele Brücken.",
        ),
        (
            "Сколько жителей в городе Берген?",
            "Bergen is a city in western Norway. It has about 290,000 inhabitants and a large harbour.",
            "The harbour of Turin was never built, since the city does not lie at the sea. It has many bridges.",
        ),
    ],
)
def test_other_languages_are_read(question: str, right: str, wrong: str) -> None:
    assert score(question, right) > 0.5 > 0.2 > score(question, wrong)
    assert [each.english for each in EVALUATOR.grade(question, [Passage(id="p", text=right)])] == [False]
    assert EVALUATOR.read(question, right) is None
    sure, unsure = (EVALUATOR.grade_answer(question, QuotedAnswer(text=each)) or 0.0 for each in (right, wrong))
    assert unsure < sure > 0.15, "it would be given"


def test_the_parts_of_a_score_sum_to_it() -> None:
    for question, text in (("What was negotiated for 2020?", BENEFITS), ("Wie hoch war die Erhöhung 2020?", BENEFITS)):
        found = score(question, text)
        parts = {part.name: part.adds for part in EVALUATOR.grade_parts(question, text)}
        assert ("coverage" in parts) is question.startswith("What"), "words are compared in English alone"
        assert sum(parts.values()) == pytest.approx(math.log(found / (1 - found)), abs=1e-6)
    assert EVALUATOR.grade_parts("What was negotiated for 2020?", "  ") == ()


def test_a_text_that_is_far_from_answering_is_not_looked_at_again() -> None:
    [look] = EVALUATOR.looks("Who painted the ceiling?", ["The pump needs two litres of oil."])
    assert look is None


@pytest.mark.parametrize(
    "text", ["x", "一" * 1_000, "a " * 2_000, "|".join("0" * 500), "؟ " * 200, "Z. " * 500, "\ud800 b"]
)
def test_odd_texts_get_a_score_or_a_failed_grade(text: str) -> None:
    for question in ("When was it built?", "متى بني؟"):
        [grade] = EVALUATOR.grade(question, [Passage(id="p", text=text)])
        assert grade.error or 0.0 <= (grade.score or 0.0) <= 1.0
