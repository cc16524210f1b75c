"""Whether a question is about a whole document, and what it wants of one: a linear layer over its words and pairs."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from crag.text.words import STOP_WORDS, stem, words

Wanted = Literal["", "about", "outline", "list", "author", "date", "pages", "compare"]
"""What is wanted of a document as a whole; empty: nothing, the question is an ordinary one."""
KINDS: tuple[Wanted, ...] = get_args(Wanted)
FILE = Path(__file__).parents[1] / "models" / "overview" / "weights.json"
LEAST = 0.6
"""How likely a question must be about a whole document to be taken for one."""
OTHER, NAME, PART, NUMBER = "§other", "§name", "§part", "§number"
"""What a word stands for that is none of the layer's own: one of a document's name, one of a heading that the question
names whole, a number, any other."""
_PREFIX, _MOST_WORDS, _MOST_OTHERS, _BETWEEN = 6, 60, 4, 3

Roots = frozenset[str]


def roots_of(text: str) -> Roots:
    """The stems by which a heading or a name is known in a question: its words that say something, and no numbers."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS and not word.isdigit())


def shorten(word: str) -> str:
    """The beginning of a word without accents: what most forms of a word share, in any language of Europe."""
    return "".join(each for each in unicodedata.normalize("NFKD", word) if not unicodedata.combining(each))[:_PREFIX]


def features_of(tokens: Iterable[str]) -> list[str]:
    """Tokens, pairs of neighbours, and how many words are unknown; of a run of one kind of word, one."""
    found = ["^", *tokens, "$"]
    run = [token for before, token in pairwise(["", *found]) if token != before or token[0] != "§"]
    others = [f"{OTHER}{at}" for at in range(1, 1 + min(found.count(OTHER), _MOST_OTHERS))]
    return [*run, *(f"{first} {second}" for first, second in pairwise(run)), *others]


@dataclass(frozen=True, slots=True)
class Classifier:
    """For each feature a weight for each of `KINDS`. The features without a space are the words that it knows."""

    weights: Mapping[str, Sequence[float]]

    def tokens(self, question: str, names: Collection[str], parts: Iterable[Roots]) -> list[str]:
        """The words of a question as the layer reads them; `names` and `parts`: the roots that stand for these."""
        asked = words(question)[:_MOST_WORDS]
        roots = [stem(word) for word in asked]
        named = set[int]()
        for part in parts:
            at = [place for place, root in enumerate(roots) if root in part] if part.issubset(roots) else []
            new = any(shorten(asked[place]) not in self.weights for place in at)
            if new and at[-1] - at[0] < len(part) + _BETWEEN:
                named.update(range(at[0], at[-1] + 1))
        return [self._token(word, at in named, roots[at] in names) for at, word in enumerate(asked)]

    def _token(self, word: str, part: bool, name: bool) -> str:
        short = shorten(word)
        if short in self.weights and not part:
            return short
        return NUMBER if word.isdigit() else PART if part else NAME if name else OTHER

    def content(self, question: str) -> Roots:
        """The roots of the words that it does not know, numbers too: what may name a document."""
        asked = (word for word in words(question) if word not in STOP_WORDS)
        return frozenset(stem(word) for word in asked if shorten(word) not in self.weights)

    def wanted(self, tokens: Sequence[str], least: float = LEAST) -> Wanted:
        """The likeliest kind, where it is an overview with a probability of at least `least`."""
        rows = [row for feature in features_of(tokens) if (row := self.weights.get(feature))]
        sums = [sum(column) for column in zip(*rows, strict=True)] or [0.0] * len(KINDS)
        most = max(sums)
        odds = [math.exp(each - most) for each in sums]
        if not tokens or 1 - odds[0] / sum(odds) < least:
            return ""
        return KINDS[odds.index(max(odds[1:]), 1)]


@cache
def classifier() -> Classifier:
    """The one that ships."""
    return Classifier(json.loads(FILE.read_text(encoding="utf-8")))
