"""Several judges' words on one sentence as one: none of them decides alone what the others see otherwise. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from crag.core.types import FigureCheck, Judgement

SUPPORTED_FROM = 0.5
"""A judge's score from which it says that a text supports a sentence; and the mean of several."""


def join_judgements(
    judgements: Sequence[Judgement], figures: Sequence[FigureCheck] = ()
) -> tuple[bool | None, float | None]:
    """Whether the sentence is supported, and the mean score of those that decided it; None where nobody can tell.

    A number or date that stands nowhere decides against it. Else most of those that can tell decide, among them the
    figures where a name is missing. Where as many are for it as against it, the mean of all scores does, in which the
    share of words that are there counts too.
    """
    if decisive(figures):
        return False, None
    scored = [each for each in judgements if each.score is not None]
    told = [each for each in scored if each.supported is not None]
    if not told:
        return None, None
    ahead = sum(1 if each.supported else -1 for each in told)
    if not ahead:
        mean = fmean(each.score for each in scored if each.score is not None)
        return mean >= SUPPORTED_FROM, mean
    return ahead > 0, fmean(each.score for each in told if each.score is not None and each.supported == (ahead > 0))


def decisive(figures: Sequence[FigureCheck]) -> bool:
    """Whether a number or date is missing. A name may be another for what is there: "it", "the agency"."""
    return any(each.state == "missing" and each.kind != "name" for each in figures)
