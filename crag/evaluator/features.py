"""What the local evaluator sees of a question and a passage: closeness in meaning, terms met, kind of answer found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crag.evaluator.lexicon import KINDS, Question, Words, side_by_side, words_of

__all__ = ["FEATURES", "Evidence", "PassageView", "evidence"]

FEATURES = (
    "best_cosine second_cosine mean_cosine pooled_cosine window_cosine best_over_mean "
    "covered best_covered top_covered window_covered loosely_covered rarest_met rarest_missed "
    "pairs_met names_met has_names numbers_met has_numbers opening_covered cosine_times_covered "
    "kind_in_best kind_in_window new_words best_asks best_position "
    "log_words log_sentences log_terms rarity_met"
).split() + [f"kind_{kind}" for kind in KINDS]
"""One name a feature, in the order of the numbers."""


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage cut into sentences, each with its words and its unit vector (n, 384)."""

    spans: tuple[tuple[int, int], ...]
    words: tuple[Words, ...]
    vectors: NDArray[np.float32]

    @staticmethod
    def read(text: str, spans: Sequence[tuple[int, int]], vectors: NDArray[np.float32]) -> PassageView:
        return PassageView(tuple(spans), tuple(words_of(text[start:end]) for start, end in spans), vectors)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The features of one pair, and what a reason is made of."""

    values: NDArray[np.float32]
    best: int
    met: int
    terms: int
    echo: bool
    """The passage only puts the question again: no sentence says a word that the question does not."""


def evidence(question: Question, vector: NDArray[np.float32], view: PassageView) -> Evidence:
    """The features of one question and one passage of at least one sentence.

    A sentence that only repeats the question (it adds no word) is no evidence: it is passed over where
    another sentence is left.
    """
    cosines = view.vectors @ vector
    asked = question.words.content
    telling = np.array([bool(words.content - asked) and not words.asks for words in view.words])
    if telling.any():
        cosines = np.where(telling, cosines, cosines.min())
    order = np.argsort(-cosines, kind="stable")
    best = int(order[0])
    weights = question.terms
    total = sum(weights.values()) or 1.0

    def covered(content: frozenset[str]) -> float:
        return sum(weight for term, weight in weights.items() if term in content) / total

    coverage = [covered(words.content) for words in view.words]
    content = frozenset[str]().union(*(words.content for words in view.words))
    near = frozenset[str]().union(*(words.content for words in view.words[max(0, best - 1) : best + 2]))
    opening = frozenset(view.words[0].stems[:12])
    prefixes = {root[:5] for root in content}
    met = [term for term in weights if term in content]
    missed = [term for term in weights if term not in content]
    rarest = max(weights, key=weights.__getitem__, default=None)
    pairs = frozenset[tuple[str, str]]().union(*(side_by_side(words.stems) for words in view.words))
    windows = [view.words[max(0, best - 1) : best + 2], view.words[best : best + 1]]
    mean = float(cosines.mean())
    count = sum(len(words.stems) for words in view.words)
    values = [
        float(cosines[best]),
        float(cosines[order[1]]) if len(order) > 1 else float(cosines[best]),
        mean,
        _cosine(view.vectors.sum(axis=0), vector),
        max(_cosine(view.vectors[at : at + 3].sum(axis=0), vector) for at in range(max(1, len(order) - 2))),
        float(cosines[best]) - mean,
        covered(content),
        coverage[best],
        max(coverage),
        covered(near),
        sum(weight for term, weight in weights.items() if term[:5] in prefixes) / total,
        float(rarest in content) if rarest else 0.5,
        max((weights[term] for term in missed), default=0.0),
        len(question.pairs & pairs) / len(question.pairs) if question.pairs else 0.5,
        _share(question.words.names, content),
        float(bool(question.words.names)),
        _share(question.words.numbers, content),
        float(bool(question.words.numbers)),
        covered(opening),
        float(cosines[best]) * covered(content),
        _answers(question, windows[1]),
        _answers(question, windows[0]),
        math.log1p(len(view.words[best].content - asked)),
        float(view.words[best].asks),
        best / len(order),
        math.log1p(count),
        math.log(len(order)),
        math.log1p(len(weights)),
        math.log1p(sum(weights[term] for term in met)),
        *(float(question.kind == kind) for kind in KINDS),
    ]
    echo = not telling.any() and (question.words.asks or all(words.asks for words in view.words))
    return Evidence(np.array(values, np.float32), best, len(met), len(weights), echo)


def _cosine(total: NDArray[np.float32], vector: NDArray[np.float32]) -> float:
    """Of a sum of unit vectors with a unit vector."""
    length = float(np.linalg.norm(total))
    return float(total @ vector) / length if length > 1e-9 else 0.0


def _share(wanted: frozenset[str], found: frozenset[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 1.0


def _answers(question: Question, sentences: Sequence[Words]) -> float:
    """1 where the sentences hold something of the kind asked for that the question does not; 0.5 for open kinds."""
    asked = question.words.content
    match question.kind:
        case "when":
            return float(any(words.dated and words.numbers - asked for words in sentences))
        case "quantity":
            return float(any(words.amount and (words.numbers - asked or not words.numbers) for words in sentences))
        case "who" | "where":
            return float(any(words.names - asked for words in sentences))
        case _:
            return 0.5
