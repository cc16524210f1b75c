"""What the evaluator is weak at, measured on held-out documents of a pack: other chunks of the same document.

`same document`: AUC of chunks that answer against other chunks of their document, the same title before all of them.
`same document first`: how often the chunk that answers is scored above all of those. `title lift`: the share of chunks
that answer nothing whose score their title alone lifts by more than 0.15. `retrieval`: AUC of the best score of what a
search found, with the text that answers against the same without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corpora.measures import auc
from corpora.pair import Pair

Score = Callable[[Sequence[Pair]], NDArray[np.float64]]
"""Logits of relevance."""
FOUND = 9
"""Texts of a search that are read."""
LIFT = 0.15


@dataclass(frozen=True)
class Met:
    """A question with its right chunk and wrong ones."""

    right: Pair
    wrong: tuple[Pair, ...]


class WeakPoints:
    """Questions with other chunks of their documents (`same`) and with what a search found (`found`)."""

    def __init__(self, same: Sequence[Met], found: Sequence[Met]) -> None:
        self.same, self.found = same, found

    def figures(self, score: Score) -> dict[str, float]:
        found: dict[str, float] = {}
        if self.same:
            titled = _scored(self.same, score)
            found["same document"] = _area(titled)
            for source in sorted({met.right.source for met in self.same}):
                own = [each for met, each in zip(self.same, titled, strict=True) if met.right.source == source]
                found[f"same document {source}"] = _area(own)
            found["same document first"] = float(np.mean([right > wrong.max() for right, wrong in titled]))
            found["title lift"] = float(np.mean(self._lifts(titled, score) > LIFT))
        if self.found:
            met = _scored(self.found, score)
            best = np.array([max(right, *wrong[:FOUND]) for right, wrong in met])
            found["retrieval"] = _between(best, np.array([wrong.max() for _, wrong in met]))
        return {name: round(value, 4) for name, value in found.items()}

    def _lifts(self, titled: Sequence[tuple[float, NDArray[np.float64]]], score: Score) -> NDArray[np.float64]:
        """By how much the title lifts the probability of each wrong chunk."""
        bare = [replace(pair, title="") for met in self.same for pair in met.wrong if pair.title]
        behind = [
            logit
            for met, (_, wrong) in zip(self.same, titled, strict=True)
            for pair, logit in zip(met.wrong, wrong, strict=True)
            if pair.title
        ]
        return _chance(np.array(behind)) - _chance(score(bare))


def _scored(met: Sequence[Met], score: Score) -> list[tuple[float, NDArray[np.float64]]]:
    logits = score([pair for each in met for pair in (each.right, *each.wrong)])
    found, at = [], 0
    for each in met:
        found.append((float(logits[at]), logits[at + 1 : at + 1 + len(each.wrong)]))
        at += 1 + len(each.wrong)
    return found


def _area(scored: Sequence[tuple[float, NDArray[np.float64]]]) -> float:
    return _between(np.array([right for right, _ in scored]), np.concatenate([wrong for _, wrong in scored]))


def _between(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    labels = np.concatenate([np.ones(len(above), np.int64), np.zeros(len(below), np.int64)])
    return auc(labels, np.concatenate([above, below]))


def _chance(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    chance: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
    return chance
