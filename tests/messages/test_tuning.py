"""Sentences about thresholds and what-if: each fact in a plain sentence with its numbers."""

from dataclasses import replace

import pytest

from crag.analysis.thresholds.recommend import Alike, Crowding, Open, Recommendation, Refusal, Settled
from crag.analysis.whatif.entries import Missing, Unknown
from crag.core.types import Action
from crag.messages.tuning import recommendation_sentence, refusal_sentence, unknown_sentence, warning_sentence

FOUND = Recommendation(
    upper=0.62,
    lower=0.305,
    intervals=((0.6, 0.7), (0.25, 0.35)),
    utility=0.95,
    questions=60,
    correct=Settled(30, 29),
    incorrect=Settled(1, 0),
    ambiguous=0.4833,
    current=(0.9, 0.2),
    current_utility=0.8,
    warnings=(),
)


@pytest.mark.parametrize("missing", Missing)
def test_whatever_needs_a_new_run_is_a_sentence(missing: Missing) -> None:
    said = unknown_sentence(Unknown(missing, 7))
    assert said[0].isupper() and said.endswith(".") and "{" not in said


def test_a_recommendation_says_what_it_does_and_what_it_is_worth() -> None:
    assert recommendation_sentence(FOUND) == (
        "With 0.62 / 0.305, 30 questions become CORRECT (the documents answer 29), 1 question becomes INCORRECT "
        "(the documents answer 0), and 48% of 60 end AMBIGUOUS. This is worth 0.95 per question; your current pair, "
        "0.90 / 0.20, is worth 0.80. In 90% of resamples, upper is 0.60 to 0.70 and lower 0.25 to 0.35."
    )
    assert "and is the pair you use now." in recommendation_sentence(replace(FOUND, current=(0.62, 0.305)))
    assert "This is worth 0.95 per question. In" in recommendation_sentence(replace(FOUND, current=None))
    assert "no question becomes CORRECT" in recommendation_sentence(replace(FOUND, correct=Settled(0, 0)))


def test_a_refusal_says_why_and_what_helps() -> None:
    assert refusal_sentence(Refusal(labelled=29, answerable=15, ungraded=1)) == (
        "30 labelled questions with a score are needed, at least 5 that the documents answer and 5 that they do not. "
        "So far: 15 and 14 (1 labelled question without a score left out)."
    )
    wide = Open("upper", 0.1, 0.9), Open("lower", 0.1, 0.6)
    assert refusal_sentence(Refusal(labelled=40, answerable=20, ungraded=0, open=wide)) == (
        "40 labelled questions leave it open: the upper threshold lies from 0.10 to 0.90 and the lower threshold "
        "lies from 0.10 to 0.60 (90% interval). More of them help, above all with scores between those values, or a "
        "better evaluator."
    )


def test_a_warning_says_what_the_pair_does() -> None:
    assert warning_sentence(Alike(Action.AMBIGUOUS, 0.6)) == (
        "The scores barely separate these questions: AMBIGUOUS for every question is worth 0.60."
    )
    assert warning_sentence(Crowding((0.7, 0.2), 0.6)) == (
        "0.70 / 0.20 sends 60% of the questions to AMBIGUOUS, more than 40%. "
        "The web decides most of what the evaluator could settle."
    )
