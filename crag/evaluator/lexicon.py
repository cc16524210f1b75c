"""How much of a question's wording a text has, rare words counting most: what a small model reads badly in names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from crag.core.stems import stem

__all__ = ["Lexicon", "stems"]

READ_CHARACTERS = 16_000
FLOOR = 0.05
"""What a word counts that stands in every paragraph."""

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_STOP = frozenset(
    """a an and are as at be been being but by can could did do does doing for from had has have he her hers him his how
    i if in into is it its itself just me my of on or our ours s she should so than that the their theirs them then
    there these they this those to too under until up very was we were what when where which while who whom whose why
    will with would you your yours about after before between during over t not no also any each some such
    many much name named called tell give list describe explain according""".split()
)


def stems(text: str) -> frozenset[str]:
    """The stems of a text's first 16,000 characters, without stop words."""
    words = (match.group().lower() for match in _TOKEN.finditer(text[:READ_CHARACTERS]))
    bare = (word.removesuffix("'s").removesuffix("’s") for word in words)
    return frozenset(stem(word) for word in bare if word not in _STOP)


class Lexicon:
    """How rare stems are, counted once over a background of paragraphs."""

    def __init__(self, paragraphs: int, counts: Mapping[str, int]) -> None:
        self._top = math.log(paragraphs + 1)
        self._rarity = {root: self._top - math.log(count + 1) for root, count in counts.items()}

    def coverage(self, question: str, text: str) -> float:
        """The share of the question's stems that the text has, by rarity: 0 for none, 1 for all (or no stem asked)."""
        asked, found = {root: FLOOR + self.rarity(root) for root in stems(question)}, stems(text)
        total = sum(asked.values())
        return sum(weight for root, weight in asked.items() if root in found) / total if total else 1.0

    def rarity(self, root: str) -> float:
        """0 for a word in every paragraph, 1 for one in none."""
        return self._rarity.get(root, self._top) / self._top
