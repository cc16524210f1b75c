"""How much of a question's wording a text has, rare words counting most: what a small model reads badly in names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from crag.models.pairing import STOP
from crag.models.runtime import MAX_CHARACTERS
from crag.text.stems import stem

__all__ = ["Lexicon", "stems"]

FLOOR = 0.05
"""What a word counts that stands in every paragraph."""

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_STOP = (STOP - {"one", "other", "more", "most"}) | frozenset(
    "name named called tell give list describe explain according".split()
)
"""The words that ask stand in no answer."""


def stems(text: str) -> frozenset[str]:
    """The stems of a text's first 16,000 characters, without stop words."""
    words = (match.group().lower() for match in _TOKEN.finditer(text[:MAX_CHARACTERS]))
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
