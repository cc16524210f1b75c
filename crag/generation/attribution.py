"""Sentences that cite nothing, held against every strip that their writer was shown: their citation, or that none is.

A sentence that no strip supports is flagged. Citations that are found are numbered on from the answer's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crag.core.types import Answer, SentenceCheck, Strip
from crag.generation.citations import numbers_in
from crag.generation.judges import Judges
from crag.generation.overlap_judge import has_subject, share_of_words

NEAREST = 8
"""So many strips, those that share most words with a sentence, are read for it."""
LEAST_SHARED = 0.25
"""A strip that holds fewer of a sentence's telling words is no source of it, whatever is read there."""


ATTRIBUTED_FROM = 0.6
"""The mean score from which a strip becomes a sentence's source: higher than for one that it cites itself, since the
best of several is taken."""
TOGETHER = 0.9
"""Two strips are a source together only where they hold so much of a sentence's telling words, each some of its own."""


class Attribution:
    """The citations found for one answer's sentences. `found`: the numbers that are new, with their strips."""

    def __init__(self, answer: Answer, strips: Sequence[Strip], judges: Judges) -> None:
        self._strips, self._judges = strips, judges
        self._numbers = {citation.strip_id: citation.number for citation in answer.citations}
        self._taken = {*self._numbers.values(), *numbers_in(answer.text)}
        self.found: list[tuple[int, Strip]] = []

    def check(self, sentence: str) -> SentenceCheck:
        """The sentence with the strip that supports it, or the two that do so together; else flagged.

        One that names no subject fits too many, and is flagged. `supported` is None only where no judge could tell.
        """
        near = self._near(sentence) if has_subject(sentence) else []
        if not near:
            return SentenceCheck(sentence=sentence, citations=(), supported=False, note="nothing shown")
        checks = self._judges.checks(sentence, [{strip.id: strip.text} for strip in near])
        best = min(zip(checks, near, strict=True), key=lambda each: _order(each[0]))
        check, sources = best[0], [best[1]]
        if not _enough(check) and (other := _completing(sentence, best[1], near)):
            (both,) = self._judges.checks(sentence, [{strip.id: strip.text for strip in (best[1], other)}])
            if _enough(both):
                check, sources = both, [best[1], other]
        if _enough(check):
            return replace(check, citations=tuple(self._number(strip) for strip in sources), attributed=True)
        return check if check.supported is None else replace(check, supported=False, note="nothing shown")

    def _near(self, sentence: str) -> list[Strip]:
        """The strips that may say it, those that share most words first."""
        close = [(share_of_words(sentence, strip.text), strip) for strip in self._strips]
        close = [each for each in close if each[0] >= LEAST_SHARED]
        return [strip for _, strip in sorted(close, key=lambda each: -each[0])[:NEAREST]]

    def _number(self, strip: Strip) -> int:
        """The number that the answer has for a strip; else the next one that nothing in its text stands for."""
        if strip.id not in self._numbers:
            number = max(self._numbers.values(), default=0) + 1
            while number in self._taken:
                number += 1
            self._numbers[strip.id] = number
            self._taken.add(number)
            self.found.append((number, strip))
        return self._numbers[strip.id]


def _enough(check: SentenceCheck) -> bool:
    """Whether what a check is of is the sentence's source: surely enough, or since it is there but for the order."""
    worded = any(each.judge == "words" and each.supported for each in check.judgements)
    return check.supported is True and (worded or (check.score or 0.0) >= ATTRIBUTED_FROM)


def _order(check: SentenceCheck) -> tuple[int, float]:
    """Those that support come first, then those that nobody could tell of; by score."""
    return {True: 0, None: 1, False: 2}[check.supported], -(check.score or 0.0)


def _completing(sentence: str, first: Strip, strips: Sequence[Strip]) -> Strip | None:
    """The strip that says most of what `first` lacks of the sentence; None where the two don't say nearly all of it."""
    others = [strip for strip in strips if strip is not first]
    together = [share_of_words(sentence, f"{first.text}\n{strip.text}") for strip in others]
    if not together or max(together) < TOGETHER:
        return None
    other = others[together.index(max(together))]
    alone = max(share_of_words(sentence, first.text), share_of_words(sentence, other.text))
    return other if max(together) > alone else None
