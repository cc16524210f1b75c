"""How likely a quoted answer is right: readings of its text, its words and its question, in one logistic layer.

A score says whether a text is about what is asked. An answer can still be wrong: the text gives another fact of the
same thing, the figure of another year, a number where a name is asked for. The layer weighs both; it is fitted on
questions with accepted answers, among them many that their texts do not answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crag.core.types import QuotedAnswer
from crag.evaluation.head import CLIP, Lexicon, load_layer, probability, weigh
from crag.models.cross_encoder import FOLDER, Reading

ANSWER_FEATURES = (
    *("relevance", "score", "rival", "agree", "shown", "words", "length"),
    *("covered", "years_unmet", "unnamed", "polar", "worked_out"),
)
"""One name a number that the layer weighs, in order."""
ODDS = 6.0
"""Log-odds are clipped here."""

YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_POLAR = re.compile(r"\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE)
_WORKED_OUT = re.compile(
    r"\b(?:ratios?|average|change|difference|growth|increase|decrease|percentage|margin|total|sum|compare|cagr|turnover"
    r"|highest|lowest|largest|smallest|most|least|more|less|fewer|which (?:year|segment|region)s?)\b",
    re.IGNORECASE,
)
_BARE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as the model read it for the question: the reading, and the log-odds that the text answers."""

    text: str
    reading: Reading
    odds: float

    @property
    def likeliest(self) -> str:
        """The words that the model points at."""
        return self.text[self.reading.start : self.reading.end]


def answer_features(
    question: str, answer: QuotedAnswer, read: Sequence[ReadText], lexicon: Lexicon
) -> tuple[float, ...]:
    """The numbers that `ANSWER_FEATURES` names. `read`: `answer.texts`, of which the first is the quoted one."""
    own, others = read[0], read[1:]
    said = answer.words or own.text[own.reading.start : own.reading.end]
    sentence, years = own.text[answer.start : answer.end], set(YEAR.findall(question))
    return (
        _clip(own.reading.relevance, CLIP),
        _clip(own.odds, ODDS),
        _clip(max((each.odds for each in others), default=-ODDS) - own.odds, ODDS),
        math.log1p(sum(agrees(bare_words(said), bare_words(each.likeliest)) for each in others)),
        float(bool(answer.words)),
        _clip(_odds(answer.confidence), ODDS),
        math.log1p(len(said.split())),
        lexicon.coverage(question, own.text),
        sum(year not in sentence for year in years) / len(years) if years else 0.0,
        float(answer.unnamed),
        float(bool(_POLAR.match(question))),
        float(bool(_WORKED_OUT.search(question))),
    )


def _clip(value: float, most: float) -> float:
    return max(-most, min(most, value))


def _odds(chance: float | None) -> float:
    held = max(1e-3, min(1 - 1e-3, chance or 0.0))
    return math.log(held / (1 - held))


def bare_words(text: str) -> str:
    """The words of an answer as they are compared: in lower case, one blank between."""
    return _BARE.sub(" ", text).strip().casefold()


def agrees(one: str, other: str) -> bool:
    """Whether two answers in bare words are the same, or one holds the other."""
    return bool(one and other) and (f" {one} " in f" {other} " or f" {other} " in f" {one} ")


@dataclass(frozen=True, slots=True)
class AnswerLayer:
    """Weights of `ANSWER_FEATURES` and a bias; their sum is the log-odds that a quoted answer is right."""

    weights: tuple[float, ...]
    bias: float

    def confidence(self, values: Sequence[float]) -> float:
        """The probability that the answer is right, of the numbers that `answer_features` gives."""
        return probability(weigh(self.weights, self.bias, values))


@cache
def load_answer_layer(folder: Path = FOLDER) -> AnswerLayer | None:
    """The shipped layer; None where none was fitted for these weights. Raises ModelError where it can't be used."""
    found = load_layer("answers", ANSWER_FEATURES, folder)
    return AnswerLayer(*found) if found else None
