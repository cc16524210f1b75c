"""Whether a question is about a whole document, and what it wants of one: a linear layer over its words and pairs."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from crag.text.words import STOP_WORDS, stem, words

Wanted = Literal["", "about", "outline", "list", "author", "date", "pages", "compare"]
"""What is wanted of a document as a whole; empty: nothing, the question is an ordinary one."""
KINDS: tuple[Wanted, ...] = get_args(Wanted)
FILE = Path(__file__).parents[1] / "models" / "overview" / "weights.json"
LEAST, SURE = 0.4, 0.8
"""How likely a question must be about a whole document to be taken for one; the same of one with an unknown word."""
OTHER, NAME, PART, NUMBER = "§other", "§name", "§part", "§number"
"""What a word stands for that the layer does not know: one of a document's name, one of a heading that the question
names whole, a number, any other."""
_PREFIX, _MOST_WORDS, _MOST_OTHERS, _BETWEEN = 6, 60, 4, 3

Roots = frozenset[str]
Weights = Mapping[str, Sequence[float]]


@cache
def shipped_weights() -> Weights:
    """For each feature a weight for each of `KINDS`; the features without a blank are the words that it knows."""
    found: Weights = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def roots_of(text: str) -> Roots:
    """The stems by which a heading or a name is known in a question: its words that say something, and no numbers."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS and not word.isdigit())


def shorten(word: str) -> str:
    """The beginning of a word without accents: what most forms of a word share, in any language of Europe."""
    return "".join(each for each in unicodedata.normalize("NFKD", word) if not unicodedata.combining(each))[:_PREFIX]


def tokens_of(
    question: str, names: Collection[str] = (), parts: Iterable[Roots] = (), known: Collection[str] | None = None
) -> list[str]:
    """The words of a question as the layer reads them; `names` and `parts`: the roots that stand for these."""
    asked, known = words(question)[:_MOST_WORDS], shipped_weights() if known is None else known
    roots, short = [stem(word) for word in asked], [shorten(word) for word in asked]
    found = [
        own if own in known else NAME if root in names else NUMBER if root.isdigit() else OTHER
        for own, root in zip(short, roots, strict=True)
    ]
    for part in parts:
        at = [place for place, root in enumerate(roots) if root in part] if part.issubset(roots) else []
        # Words that the layer knows are no heading by themselves: "Authors".
        if at and at[-1] - at[0] < len(part) + _BETWEEN and any(short[place] not in known for place in at):
            found[at[0] : at[-1] + 1] = [PART] * (at[-1] + 1 - at[0])
    return found


def features_of(tokens: Iterable[str]) -> list[str]:
    """Tokens, pairs of neighbours, and how many words are unknown; of a run of one kind of word, one."""
    found = ["^", *tokens, "$"]
    run = [token for before, token in pairwise(["", *found]) if token != before or token[0] != "§"]
    others = [f"{OTHER}{at}" for at in range(1, 1 + min(found.count(OTHER), _MOST_OTHERS))]
    return [*run, *(f"{first} {second}" for first, second in pairwise(run)), *others]


def wanted_by(tokens: Sequence[str]) -> Wanted:
    """The likeliest kind, where it is likely enough that it is an overview.

    Of one with an unknown word it must be `SURE`; two ask for something else. Beside one, or a heading, "who wrote the
    safety plan" may be of another paper, "how long is the warranty" of no paper at all.
    """
    weights, others = shipped_weights(), tokens.count(OTHER)
    rows = [row for feature in features_of(tokens) if (row := weights.get(feature))]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    odds = [math.exp(each - max(sums)) for each in sums]
    if not tokens or others > 1 or 1 - odds[0] / sum(odds) < (SURE if others else LEAST):
        return ""
    kind = KINDS[odds.index(max(odds[1:]), 1)]
    return "" if (others or PART in tokens) and kind in ("author", "date", "pages") else kind
