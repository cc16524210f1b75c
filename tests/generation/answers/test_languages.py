"""Whether an answer is in another language than its question, where that is sure."""

from __future__ import annotations

import pytest

from crag.text.languages import other_language

ENGLISH = "How long did hiring take in 2019, and what was the average of the years before?"
SAID = "In 2019 hiring took 98 days on average, which is more than the 77 days that it had taken in the year before."
GERMAN = "Im Jahr 2019 dauerte eine Einstellung durchschnittlich 98 Tage, also deutlich länger als die 77 Tage zuvor."
FRENCH = "En 2019, le recrutement a duré en moyenne 98 jours, soit bien plus que les 77 jours de l'année précédente."


@pytest.mark.parametrize(
    "said", [GERMAN, FRENCH, "招聘平均需要九十八天，比前一年的七十七天更长。", "Наём длился 98 дней."]
)
def test_another_language_is_told(said: str) -> None:
    assert other_language(ENGLISH, said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ENGLISH, SAID),
        (ENGLISH, "98 days [1]."),
        (ENGLISH, "Washington, Boston, Denver, Atlanta, Chicago, Dallas, Philadelphia"),
        ("FEHB average premium increase 2020?", GERMAN),
        ("Wie lange dauerte eine Einstellung im Jahr 2019?", GERMAN),
        ("招聘需要多长时间？二〇一九年平均是多少天？", "招聘平均需要九十八天，比前一年的七十七天更长。"),
    ],
)
def test_the_same_language_and_what_can_not_be_told(asked: str, said: str) -> None:
    assert not other_language(asked, said)
