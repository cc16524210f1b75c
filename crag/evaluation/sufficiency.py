"""How likely all retrieved texts together answer: the best one's score and what the set says, in one logistic layer.

A score judges one text. A text on the subject is not yet the answer: no text may have the year that is asked for, and
the next best ones may point elsewhere. The layer is fitted on retrievals with and without the text that answers, and on
questions that near miss their documents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crag.core.types import GradedText, SetReadings
from crag.evaluation.confidence import ODDS, YEAR, agrees, bare_words
from crag.evaluation.head import Lexicon, load_layer, probability, stems, weigh, words_by_stem
from crag.models.cross_encoder import FOLDER, Reading
from crag.models.runtime import MAX_CHARACTERS

SET_FEATURES = ("best", "agreeing", "covered", "years_unmet", "keywords", "closeness", "words")
"""One name a number that the layer weighs, in order."""
NEAREST = 4
"""How many of the best texts have their likeliest answers compared."""
ABSENT = 5
"""Words of the question that are named, of those that no text has."""


def read_set(
    question: str, texts: Sequence[GradedText], best: Sequence[tuple[str, Reading]], lexicon: Lexicon
) -> SetReadings:
    """What the texts say together. `best`: those of the highest scores as the model read them, the best first."""
    _, reading = best[0]
    said = [bare_words(each[found.start : found.end]) for each, found in best]
    found = frozenset[str]().union(*(stems(each.text) for each in texts))
    absent = [(lexicon.rarity(root), word) for root, word in words_by_stem(question).items() if root not in found]
    years = tuple(dict.fromkeys(YEAR.findall(question[:MAX_CHARACTERS])))
    return SetReadings(
        best=max(each.score for each in texts),
        agreeing=sum(agrees(said[0], other) for other in said[1:]),
        covered=lexicon.coverage(question, *(each.text for each in texts)),
        absent=tuple(word for _, word in sorted(absent, key=lambda each: -each[0])[:ABSENT]),
        years=tuple(year for year in years if not any(year in each.text for each in texts)),
        years_asked=len(years),
        keywords=max(each.keywords or 0.0 for each in texts),
        closeness=reading.closeness,
        words=len(said[0].split()),
    )


def set_features(readings: SetReadings) -> tuple[float, ...]:
    """The numbers that `SET_FEATURES` names."""
    least = probability(-ODDS)
    best = max(least, min(1 - least, readings.best))
    return (
        math.log(best / (1 - best)),
        math.log1p(readings.agreeing),
        readings.covered,
        len(readings.years) / readings.years_asked if readings.years_asked else 0.0,
        math.log1p(max(0.0, readings.keywords)),
        readings.closeness,
        math.log1p(readings.words),
    )


@dataclass(frozen=True, slots=True)
class SetLayer:
    """Weights of `SET_FEATURES` and a bias; their sum is the log-odds that the texts together answer."""

    weights: tuple[float, ...]
    bias: float

    def score(self, readings: SetReadings) -> float:
        """The calibrated probability, 0..1."""
        return probability(weigh(self.weights, self.bias, set_features(readings)))


@cache
def load_set_layer(folder: Path = FOLDER) -> SetLayer | None:
    """The shipped layer; None where none was fitted for these weights. Raises ModelError where it can't be used."""
    found = load_layer("sets", SET_FEATURES, folder)
    return SetLayer(*found) if found else None
