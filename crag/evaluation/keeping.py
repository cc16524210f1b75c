"""Which strips are kept, and why each: the best by score, to a number or a budget of words, with what they need. Pure.

It works on places, not on texts, so that stored runs can be decided again by the thousand.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crag.core.settings import Settings
from crag.core.types import KeepReason, Strip
from crag.evaluation.strip_dependencies import Need, needs
from crag.text.words import count_words

__all__ = ["Facts", "Rule", "choose"]


@dataclass(frozen=True, slots=True)
class Rule:
    """`floor`: the least score. `top_k`: how many at most, 0 for all. `words`: how many words at most, 0 for all.

    `context`: whether a strip brings what it needs. `passage`: so many words of the anchor are kept; 0 for none.
    """

    floor: float
    top_k: int
    words: int = 0
    context: bool = False
    passage: int = 0

    @classmethod
    def of(cls, settings: Settings) -> Rule:
        """What the settings ask for."""
        return cls(
            floor=settings.strip_filter,
            top_k=settings.strip_top_k,
            words=settings.strip_words,
            context=settings.strip_context,
            passage=settings.min_passage_words,
        )

    @property
    def counts_alone(self) -> bool:
        """Whether each strip is kept for its own score, and only their number is limited."""
        return not (self.words or self.context or self.passage)


@dataclass(frozen=True, slots=True)
class Facts:
    """What choosing needs to know of the strips of some sources, in reading order, one entry a strip.

    `order`: the places of those with a score, the best first and the earlier one on a tie, then of those without.
    `spans`: the places of each source's.
    """

    sources: tuple[str, ...]
    scores: tuple[float | None, ...]
    selected: tuple[bool | None, ...]
    words: tuple[int, ...]
    needs: tuple[tuple[Need, ...], ...]
    order: tuple[int, ...]
    spans: dict[str, range]

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
        """The facts with the order worked out. Of a source where some strip has a score, the others fill nothing."""
        scored = sorted((-score, place) for place, score in enumerate(scores) if score is not None)
        heard = {source for source, score in zip(sources, scores, strict=True) if score is not None}
        silent = [
            place
            for place, score in enumerate(scores)
            if score is None and (selected[place] or (selected[place] is None and sources[place] not in heard))
        ]
        spans = {sources[start]: range(start, end) for start, end in _runs(sources)}
        return cls(sources, scores, selected, words, needs, (*(place for _, place in scored), *silent), spans)


def choose(
    facts: Facts, rule: Rule, *, used: Container[str] | None = None, anchor: str | None = None
) -> dict[int, KeepReason]:
    """The places of the strips to keep, and why each is kept.

    Kept are the strips scored at least the floor, the best first, until their number or their words are used up; the
    best one however long it is. A failed score (None) is neither relevant nor irrelevant: such a strip never takes the
    place of a scored one, and is kept only where nothing of its source could be scored, so that a failing evaluator
    can't silently drop a whole source. Where a language model said whether to keep a strip, that takes the place of
    the floor, and nothing brings back what it leaves out. Of the `anchor`, a source, a passage round its best strip
    is kept before all others, whole where there is room. `used`: the sources that count; None: all.
    """
    room = float(rule.words or math.inf)
    kept: dict[int, KeepReason] = {}
    if anchor is not None and rule.passage:
        for place in _passage(facts, anchor, min(rule.passage, room)):
            kept[place] = "deciding"
            room -= facts.words[place]
    taken = 0
    for place in facts.order:
        score, said = facts.scores[place], facts.selected[place]
        if used is not None and facts.sources[place] not in used:
            continue
        if score is not None and not (score >= rule.floor if said is None else said):
            continue
        taken += 1
        if rule.top_k and taken > rule.top_k:
            break
        why: KeepReason = "unscored" if score is None and said is None else "score" if said is None else "selected"
        if place in kept:
            kept[place] = kept[place] if kept[place] == "deciding" else why
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


def _passage(facts: Facts, anchor: str, most: float) -> list[int]:
    """The places of a source's strips: all, or as many round the best one as have at most so many words in all.

    None where a language model spoke of them: what it leaves out is left out.
    """
    places = facts.spans.get(anchor, range(0))
    if not places or any(facts.selected[place] is not None for place in places):
        return []
    best = max(places, key=lambda place: (facts.scores[place] or 0.0, -place))
    first = last = best
    left = most - facts.words[best]
    while True:
        if last < places[-1] and facts.words[last + 1] <= left:
            last += 1
            left -= facts.words[last]
        elif first > places[0] and facts.words[first - 1] <= left:
            first -= 1
            left -= facts.words[first]
        else:
            return list(range(first, last + 1))


def _runs(sources: Sequence[str]) -> list[tuple[int, int]]:
    """Where each source's strips begin and end."""
    starts = [place for place, source in enumerate(sources) if not place or source != sources[place - 1]]
    return list(pairwise([*starts, len(sources)]))
