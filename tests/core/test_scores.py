"""Scores in words: no score is shown on another side of a threshold than the one it lies on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.types import Action, Aggregation, Decision
from crag.messages.answers import against_text
from crag.messages.wording import decision_sentence
from crag.text.formats import format_score

UNIT = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("score", "limits", "shown"),
    [
        (0.58, (0.7, 0.3), "0.58"),
        (0.196, (0.4, 0.2), "0.196"),
        (0.2, (0.4, 0.2), "0.20"),
        (0.699999999, (0.7, 0.3), "0.69999"),
    ],
)
def test_as_few_decimals_as_agree_with_the_verdict(score: float, limits: tuple[float, float], shown: str) -> None:
    assert format_score(score, *limits) == shown


@given(UNIT, st.integers(0, 100))
def test_the_side_of_a_threshold_is_never_lost(score: float, percent: int) -> None:
    limit = percent / 100
    assert (float(format_score(score, limit)) < limit) == (score < limit)


def test_sentences_agree_with_their_numbers() -> None:
    assert against_text(0.196, 0.4, 0.2) == "scored 0.196, below the lower threshold of 0.20"
    decision = Decision(
        action=Action.INCORRECT,
        deciding_id="a",
        score=0.1999,
        upper=0.4,
        lower=0.2,
        aggregation=Aggregation.ANY,
        graded=1,
        unknown=0,
    )
    assert decision_sentence(decision) == "INCORRECT: the best chunk scored 0.1999, below 0.20."
