"""Which strips are kept, and why each: the best, to a number or a budget of words, with what they need. Pure.

It works on places, not on texts, so that stored runs can be decided again by the thousand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from crag.core.settings import Settings
from crag.core.types import KeepReason, Strip
from crag.evaluation.strip_dependencies import Need, needs
from crag.text.words import count_words


@dataclass(frozen=True, slots=True)
class Rule:
    """`floor`: the least score. `top_k`: how many at most, 0 for all. `words`: how many words at most, 0 for all.

    `context`: whether a strip brings what it needs.
    """

    floor: float
    top_k: int
    words: int = 0
    context: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Rule:
        """What the settings ask for."""
        return cls(
            floor=settings.strip_filter,
            top_k=settings.strip_top_k,
            words=settings.strip_words,
            context=settings.strip_context,
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What choosing needs to know of the strips of some sources, in reading order, one entry a strip.

    `order`: the places of those with a score, the best first and the earlier one on a tie, then of those without.
    `worth`: each strip's score over the square root of its rank in its source; negative without a score.
    """

    sources: tuple[str, ...]
    scores: tuple[float | None, ...]
    selected: tuple[bool | None, ...]
    words: tuple[int, ...]
    needs: tuple[tuple[Need, ...], ...]
    order: tuple[int, ...]
    worth: tuple[float, ...]

    @classmethod
    def of(cls, strips: Sequence[Strip]) -> Facts:
        """The facts of strips, each source's together."""
        needed: list[tuple[Need, ...]] = []
        for start, end in _runs([strip.source_id for strip in strips]):
            own = needs([strip.text for strip in strips[start:end]])
            needed += [tuple((start + place, why) for place, why in each) for each in own]
        return cls.made(
            tuple(strip.source_id for strip in strips),
            tuple(strip.score for strip in strips),
            tuple(strip.selected for strip in strips),
            tuple(count_words(strip.text) for strip in strips),
            tuple(needed),
        )

    @classmethod
    def made(
        cls,
        sources: tuple[str, ...],
        scores: tuple[float | None, ...],
        selected: tuple[bool | None, ...],
        words: tuple[int, ...],
        needs: tuple[tuple[Need, ...], ...],
    ) -> Facts:
        """The facts with order and worth. Of a source where some strip has a score, those without fill nothing."""
        scored = sorted((-score, place) for place, score in enumerate(scores) if score is not None)
        heard = {source for source, score in zip(sources, scores, strict=True) if score is not None}
        silent = [
            place
            for place, score in enumerate(scores)
            if score is None and (selected[place] or (selected[place] is None and sources[place] not in heard))
        ]
        worth = [-1.0] * len(scores)
        ranks: Counter[str] = Counter()
        for negative, place in scored:
            ranks[sources[place]] += 1
            worth[place] = -negative / math.sqrt(ranks[sources[place]])
        return cls(sources, scores, selected, words, needs, (*(place for _, place in scored), *silent), tuple(worth))

    def ranked(self, rule: Rule, used: Sequence[str] | None) -> list[int]:
        """The places of the used sources' strips in the order in which they are kept.

        Under a budget of words a strip counts less the later its source was found and the more of its source comes
        before it: so the budget goes to several sources, and first to those that the search put first.
        """
        known = dict.fromkeys(self.sources)
        found = known if used is None else [source for source in used if source in known]
        ranks = {source: math.sqrt(rank) for rank, source in enumerate(found, start=1)}
        places = [place for place in self.order if self.sources[place] in ranks]
        if rule.words:
            places.sort(key=lambda place: -self.worth[place] / ranks[self.sources[place]])
        return places


def choose(facts: Facts, rule: Rule, *, used: Sequence[str] | None = None) -> dict[int, KeepReason]:
    """The places of the strips to keep, and why each is kept.

    Kept are the strips scored at least the floor, in the order of `Facts.ranked`, until their number or their words
    are used up; the first one however long it is. A failed score (None) is neither relevant nor irrelevant: such a
    strip never takes the place of a scored one, and is kept only where nothing of its source could be scored, so that
    a failing evaluator can't silently drop a whole source. Where a language model said whether to keep a strip, that
    takes the place of the floor, and nothing brings back what it leaves out. `used`: the sources that count, as the
    search ranked them; None: all, in the order of their strips.
    """
    room = float(rule.words or math.inf)
    kept: dict[int, KeepReason] = {}
    taken = 0
    for place in facts.ranked(rule, used):
        score, said = facts.scores[place], facts.selected[place]
        if score is not None and not (score >= rule.floor if said is None else said):
            continue
        taken += 1
        if rule.top_k and taken > rule.top_k:
            break
        why: KeepReason = "unscored" if score is None and said is None else "score" if said is None else "selected"
        if place in kept:
            kept[place] = why
            continue
        own = facts.words[place]
        if own > room and kept:
            break
        kept[place] = why
        room -= own
        more = [
            (other, need)
            for other, need in (facts.needs[place] if rule.context else ())
            if other not in kept and facts.selected[other] is not False
        ]
        if more and (extra := sum(facts.words[other] for other, _ in more)) <= room:
            kept.update(more)
            room -= extra
    return kept


def _runs(sources: Sequence[str]) -> list[tuple[int, int]]:
    """Where each source's strips begin and end."""
    starts = [place for place, source in enumerate(sources) if not place or source != sources[place - 1]]
    return list(pairwise([*starts, len(sources)]))
