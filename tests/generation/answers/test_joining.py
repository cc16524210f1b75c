"""Several judges' words as one: no judge alone, and what each of them said is kept."""

from __future__ import annotations

import pytest

from crag.core.types import FigureCheck, Judgement
from crag.generation.judges import join_judgements


def said(**scores: float | None) -> list[Judgement]:
    """Judges by name with their scores; words are for a sentence or can't tell."""
    return [
        Judgement(
            judge=name,  # type: ignore[arg-type]
            supported=None if score is None or (name == "words" and score < 0.9) else score >= 0.5,
            score=score,
        )
        for name, score in scores.items()
    ]


@pytest.mark.parametrize(
    ("judgements", "supported"),
    [
        (said(words=0.3, evaluator=0.8), True),
        (said(words=0.8, evaluator=0.2), False),
        (said(words=0.95, evaluator=0.1), True),  # there but for the order: one that reads it otherwise is not enough
        (said(words=0.95, evaluator=0.9, model=0.0), True),  # a weak model is no lone judge
        (said(words=0.7, evaluator=0.9, model=0.0), True),  # as many for as against: the words that are there tell
        (said(words=0.2, evaluator=0.2, model=1.0), False),
        (said(words=0.5, evaluator=None), None),
    ],
)
def test_most_of_those_that_can_tell_decide(judgements: list[Judgement], supported: bool | None) -> None:
    assert join_judgements(judgements)[0] is supported


def test_a_number_that_stands_nowhere_decides_against_all_others() -> None:
    missing = FigureCheck(start=0, end=4, text="1891", kind="number", state="missing")
    judged = [*said(words=0.95, evaluator=0.9, model=1.0), Judgement(judge="figures", supported=False, score=0.0)]
    assert join_judgements(judged, [missing]) == (False, None)


def test_a_name_that_stands_nowhere_is_one_voice_among_others() -> None:
    missing = FigureCheck(start=0, end=4, text="Acme", kind="name", state="missing")
    objects = Judgement(judge="figures", supported=False, score=0.5)
    assert join_judgements([*said(words=0.8, evaluator=0.9), objects], [missing])[0] is True
    assert join_judgements([*said(words=0.2, evaluator=0.6), objects], [missing])[0] is False


def test_figures_that_stand_prove_nothing_by_themselves() -> None:
    assert join_judgements([*said(evaluator=0.2), Judgement(judge="figures", supported=True)])[0] is False


def test_the_score_is_that_of_the_judges_that_decided() -> None:
    assert join_judgements(said(words=0.95, evaluator=0.85, model=0.1)) == (True, pytest.approx(0.9))
