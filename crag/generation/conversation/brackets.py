"""A follow-up with the questions before it in brackets: "And for Nebraska? (What did Kansas harvest in 2019?)".

The answers before it stay out: with them right passages score lower (`benchmarks.conversation`).
"""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.types import Exchange, Standalone
from crag.generation.conversation.followup_detection import (
    YEAR_AFTER,
    YEAR_BEFORE,
    follows_on,
    says_something,
    without_courtesy,
)
from crag.generation.periods import group_periods, move_years

LONGEST = 300
"""Characters of an earlier question that are held."""
_OPENS, _PARTED, _CLOSES = "? (", "; ", "?)"


class BracketContextualizer:
    """Needs no model and never fails; where it is not clear that a question follows on, it changes nothing."""

    by = "brackets"

    def standalone(self, question: str, history: Sequence[Exchange]) -> Standalone:
        """What is asked in place of `question`: itself, unless it is clearly a follow-up to the last exchange."""
        if not history or not history[-1].question.strip() or not follows_on(question):
            return Standalone(question=question)
        earlier = earlier_questions(history[-1].question)
        asked, held = _settle_period(" ".join(without_courtesy(question).split()).rstrip("?!. "), earlier)
        return Standalone(question=f"{asked}? ({_PARTED.join(held)})", follows=tuple(earlier))


def own_words(question: str) -> str:
    """A question without the earlier ones that it holds in brackets: what is to be answered."""
    latest, opened, held = question.strip().partition(_OPENS)
    return f"{latest}?" if opened and held.endswith(_CLOSES) else question


def earlier_questions(before: str) -> list[str]:
    """The question before, and the one that stands alone at the beginning of its chain, which it holds in brackets."""
    latest, opened, held = before.strip().partition(_OPENS)
    found = [latest, *held[:-1].split(_PARTED)] if opened and held.endswith(_CLOSES) else [before]
    cut = [f"{' '.join(each.split())[:LONGEST].rstrip('?!. ')}?" for each in found]
    return cut if len(cut) < 2 else [cut[0], cut[-1]]


def _settle_period(asked: str, earlier: Sequence[str]) -> tuple[str, list[str]]:
    """The question with "the year before" as what it is, and the earlier ones without periods where it has its own.

    Two periods in one question would leave open which one is asked for.
    """
    base = next((group.periods[-1] for each in earlier for group in group_periods(each)), "")
    for form, years in ((YEAR_BEFORE, -1), (YEAR_AFTER, 1)):
        if base:
            asked = form.sub(f"in {move_years(base, years)}", asked)
    if not group_periods(asked):
        return asked, list(earlier)
    held = [_without_periods(each) for each in earlier]
    return asked, [each for each in held if says_something(each)] or held[-1:]


def _without_periods(question: str) -> str:
    for group in reversed(group_periods(question)):
        question = question[: group.start].rstrip() + question[group.end :]
    return question
