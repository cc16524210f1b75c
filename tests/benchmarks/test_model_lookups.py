"""How the answers of a language model to look-ups are judged, and what its page counts."""

from __future__ import annotations

import pytest

from benchmarks.model_lookups import outcome_of


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Net sales were $163,220 million in fiscal 2020 [1].", "right"),
        ("They were $163.2 billion [2].", "right"),
        ("They were 192,052 [1].", "wrong"),
        ("The sources of 2020 do not say [1].", "refused"),
    ],
)
def test_an_answer_is_judged_by_the_amounts_that_it_gives(answer: str, outcome: str) -> None:
    assert outcome_of(answer, ["163,220"]) == outcome


def test_an_amount_for_a_near_miss_is_wrong() -> None:
    assert outcome_of("They were 192,052 [1].", []) == "wrong"
