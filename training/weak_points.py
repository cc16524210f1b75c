"""What the evaluator is weak at, measured on held-out documents of a pack: other chunks of the same document.

`same document`: AUC of chunks that answer against other chunks of their document, the same title before all of them.
`same document first`: how often the chunk that answers is scored above all of those. `title lift`: the share of chunks
that answer nothing whose score their title alone lifts by more than 0.15. `retrieval`: AUC of the best score of what a
search found, with the text that answers against the same without it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from training.candidates import Asked, Pack
from training.filings import make_company_title
from training.measures import auc
from training.mined import REPORTS
from training.pair import Pair, held_out

Score = Callable[[Sequence[Pair]], NDArray[np.float64]]
"""Logits of relevance."""
OF_EACH, WRONG = 40, 4
"""Questions of each set, and other chunks of the document that each of them meets."""
RETRIEVALS, FOUND = 150, 9
LIFT = 0.15


@dataclass(frozen=True)
class Met:
    """A question with its right chunk and wrong ones."""

    right: Pair
    wrong: tuple[Pair, ...]


class WeakPoints:
    """Held-out questions, drawn once; the same for the same pack."""

    def __init__(self, pack: Pack, seed: int = 1) -> None:
        self._pack, self._seed = pack, seed
        dice = random.Random(seed)
        held = [each for each in pack.asked if held_out(each.group) and each.golds]
        sources: dict[str, list[Asked]] = {}
        for each in held:
            if len(each.same) >= 2:
                sources.setdefault(each.source, []).append(each)
        drawn = [asked for _, some in sorted(sources.items()) for asked in dice.sample(some, min(OF_EACH, len(some)))]
        self.same = [self._met(each, each.same[:WRONG]) for each in drawn]
        found = [each for each in held if len(each.near) >= FOUND + 1]
        found = dice.sample(found, min(RETRIEVALS, len(found)))
        self.found = [self._met(each, each.near[: FOUND + 1]) for each in found]

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

    def _met(self, asked: Asked, numbers: Sequence[int]) -> Met:
        question = asked.question
        if report := asked.source in REPORTS:
            company, year, _ = self._title(asked.group)
            question = f"In {company}'s {year} annual report, {question[:1].lower()}{question[1:]}"

        def pair(number: int, label: float) -> Pair:
            text = self._pack.texts[number]
            title = text.title
            if report:
                title = " › ".join(filter(None, (self._title(text.group)[2], text.title)))
            return Pair(question, text.text, label, asked.group, asked.source, title)

        return Met(pair(asked.golds[0].text, 1.0), tuple(pair(number, 0.0) for number in numbers))

    def _title(self, group: str) -> tuple[str, int, str]:
        return make_company_title(random.Random(f"{self._seed} {group}"))


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
