"""Sentences about a promise: what is certified with its counts, and what is missing in words."""

import pytest

from crag.analysis.thresholds.guarantee import Candidate, Certificate, Counted, Promise, Shortfall
from crag.core.strategies import STRATEGIES
from crag.messages.guarantees import guarantee_sentence, left_out_text, no_promise_text

PROMISE, COUNTED = Promise(), Counted(questions=400, answerable=250)
BEST = Candidate(upper=0.86, lower=0.2, called=214, wrong=3)


def test_a_certificate_says_the_promise_and_what_it_rests_on() -> None:
    found = Certificate(promise=PROMISE, counted=COUNTED, best=BEST, pairs=(BEST,))
    assert guarantee_sentence(found) == (
        "With 0.86 / 0.20, at most 5% of the questions called CORRECT are wrong, with 95% confidence. "
        "Of 400 labelled questions it calls 214 CORRECT (54%), 3 of them wrongly."
    )


@pytest.mark.parametrize(
    ("short", "said"),
    [
        (Shortfall(promise=PROMISE, counted=Counted(questions=0, answerable=0)), "no question has both a label"),
        (Shortfall(promise=PROMISE, counted=Counted(questions=9, answerable=9)), "all 9 labels are of one kind"),
        (Shortfall(promise=PROMISE, counted=COUNTED), "no labelled question scores high enough"),
        (
            Shortfall(promise=PROMISE, counted=COUNTED, nearest=BEST, more=1234, today=0.0712, today_at=BEST),
            "it takes about 1,300 more labelled questions. Today these labels certify 7.2%, with 0.86 / 0.20.",
        ),
        (Shortfall(promise=PROMISE, counted=COUNTED, nearest=BEST), "More labels will hardly help"),
    ],
    ids=["none", "one kind", "none called", "more", "hopeless"],
)
def test_what_is_missing_is_said(short: Shortfall, said: str) -> None:
    assert said in guarantee_sentence(short)


def test_the_left_out_are_counted_by_reason() -> None:
    assert left_out_text(COUNTED) == ""
    assert left_out_text(Counted(questions=9, answerable=5, ungraded=1, contradictory=2, deleted=3)) == (
        "Left out: 6 labelled questions (1 without a score under these settings, 2 with labels that contradict each "
        "other and 3 about documents that were deleted)."
    )


def test_strategies_without_a_pair_say_why() -> None:
    assert "plain RAG" in no_promise_text(STRATEGIES["plain-rag"].settings)
    assert "one threshold" in no_promise_text(STRATEGIES["binary-any"].settings)
    assert not no_promise_text(STRATEGIES["balanced"].settings)
