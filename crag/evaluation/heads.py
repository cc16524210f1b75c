"""Calibrated layers over what is known of a question and texts: one text, a quoted answer, all texts together.

Each is one logistic layer, fitted on data held apart.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crag.core.errors import ModelError
from crag.core.types import GradedText, GradePart, QuotedAnswer, SetReadings
from crag.models.cross_encoder import FOLDER, MODEL_ID, STOP, Reading
from crag.models.runtime import MAX_CHARACTERS, verified_files
from crag.text.words import stem

FEATURES = (
    *("relevance", "span", "either", "length", "relevance_by_length", "span_by_length"),
    *("coverage", "closeness"),
)
"""One name a number that the layer weighs, in order."""
PART_OF = {name: "span" if name == "either" else name.removesuffix("_by_length") for name in FEATURES}
"""What each number is a reading of: a logit counts otherwise in a long text, and with the other one."""
STRIP_FEATURES = ("evidence", "place", "length")
"""The same for a strip of a passage."""
CLIP = 12.0
AHEAD = 2.0
"""How much larger a strip's log-odds may be than its passage's."""
SHORT, LONG = 30, 480
"""Characters between which a longer strip is likelier to be evidence."""
FLOOR = 0.05
"""What a word counts that stands in every paragraph."""

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_STOP = (STOP - {"one", "other", "more", "most"}) | frozenset(
    "name named called tell give list describe explain according".split()
)
"""The words that ask stand in no answer. lexicon.json was counted, and the head fitted, without these words."""


def stems(text: str) -> frozenset[str]:
    """The stems of a text's first 16,000 characters, without stop words."""
    return frozenset(words_by_stem(text))


def words_by_stem(text: str) -> dict[str, str]:
    """The same stems in order, each with a word of the text that has it, as it is written there."""
    written = (match.group() for match in _TOKEN.finditer(text[:MAX_CHARACTERS]))
    bare = ((word.lower().removesuffix("'s").removesuffix("’s"), word) for word in written)
    return {stem(word): as_written for word, as_written in bare if word not in _STOP}


class Lexicon:
    """How rare stems are, counted once over a background of paragraphs."""

    def __init__(self, paragraphs: int, counts: Mapping[str, int]) -> None:
        self._top = math.log(paragraphs + 1)
        self._rarity = {root: self._top - math.log(count + 1) for root, count in counts.items()}

    def coverage(self, question: str, *texts: str) -> float:
        """The share of the question's stems that any text has, by rarity: 0 for none, 1 for all (or no stem asked)."""
        found = frozenset[str]().union(*map(stems, texts))
        asked = {root: FLOOR + self.rarity(root) for root in stems(question)}
        total = sum(asked.values())
        return sum(weight for root, weight in asked.items() if root in found) / total if total else 1.0

    def knows(self, word: str) -> bool:
        """Whether the background has a word of this stem, or it says too little to be counted."""
        return word in _STOP or stem(word) in self._rarity

    def rarity(self, root: str) -> float:
        """0 for a word in every paragraph, 1 for one in none."""
        return self._rarity.get(root, self._top) / self._top


def features(reading: Reading, coverage: float) -> tuple[float, ...]:
    """The numbers that `FEATURES` names: two logits, clipped, how they count in short and in long texts, the rest.

    `coverage`: the share of the question's words that the text has, 0..1.
    """
    relevance, span = (max(-CLIP, min(CLIP, value)) for value in (reading.relevance, reading.span / 2))
    length = math.log(max(reading.tokens, 1) / 80)
    read = relevance, span, max(relevance, span), length, relevance * length, span * length
    return *read, coverage, reading.closeness


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of `FEATURES` and a bias; their sum is the log-odds that a text answers."""

    weights: tuple[float, ...]
    bias: float

    def odds(self, reading: Reading, coverage: float) -> float:
        """The log-odds that the text answers."""
        return weigh(self.weights, self.bias, features(reading, coverage))

    def parts(self, reading: Reading, coverage: float) -> tuple[GradePart, ...]:
        """What each reading that has a weight, and the bias, adds to the log-odds, in the order of `FEATURES`."""
        values = dict(zip(FEATURES, features(reading, coverage), strict=True))
        adds = dict[str, float]()
        for name, weight in zip(FEATURES, self.weights, strict=True):
            if weight:
                adds[PART_OF[name]] = adds.get(PART_OF[name], 0.0) + weight * values[name]
        parts = (GradePart(name=name, value=values[name], adds=added) for name, added in adds.items())
        return *parts, GradePart(name="bias", value=None, adds=self.bias)


def strip_features(reading: Reading, start: int, end: int, odds: float) -> tuple[float, ...]:
    """The numbers that `STRIP_FEATURES` names, of the text's [start, end): of its tokens, and of the text as a whole.

    `odds`: the log-odds that the text answers. "evidence" is what the tokens say, but no more than `AHEAD` over these:
    no strip is good evidence in a text that answers nothing. "place" is how sure the likeliest answer stands in it.
    """
    evidence = max(-CLIP, min(reading.kept(start, end), odds + AHEAD))
    holds = reading.start < end and start < reading.end
    place = max(0.0, min(CLIP, reading.span / 2)) if holds else 0.0
    return evidence, place, math.log(max(SHORT, min(LONG, end - start)) / 120)


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of some numbers, and a bias; their sum is the log-odds of what the layer was fitted on."""

    weights: tuple[float, ...]
    bias: float

    def odds(self, values: Sequence[float]) -> float:
        return weigh(self.weights, self.bias, values)

    def chance(self, values: Sequence[float]) -> float:
        """The calibrated probability, 0..1."""
        return probability(self.odds(values))


def probability(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


def weigh(weights: Sequence[float], bias: float, values: Sequence[float]) -> float:
    """The log-odds that a layer gives for the numbers of its features."""
    return bias + sum(weight * value for weight, value in zip(weights, values, strict=True))


def load_head(folder: Path = FOLDER, *, english: bool = True) -> tuple[Head, Lexicon]:
    """The shipped head and word counts. Raises ModelError if a file is missing, damaged or of other features.

    `english`: of which of the two models.
    """
    head, _, lexicon = _load(folder, english)
    return head, lexicon


def load_strip_head(folder: Path = FOLDER, *, english: bool = True) -> Layer:
    """The shipped layer of `STRIP_FEATURES`: how likely a strip is evidence. Raises ModelError as `load_head` does."""
    return _load(folder, english)[1]


@cache
def _load(folder: Path, english: bool) -> tuple[Head, Layer, Lexicon]:
    try:
        files = verified_files(folder, MODEL_ID)
        given = json.loads(files["head.json"])
        given = given if english else given["elsewhere"]
        head, strips = Head(*_layer(given, FEATURES)), Layer(*_layer(given["strips"], STRIP_FEATURES))
        if not english:
            return head, strips, _load(folder, True)[2]  # the words of both are counted once
        counted = json.loads(files["lexicon.json"])
        return head, strips, Lexicon(counted["paragraphs"], counted["counts"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"The local evaluator's files can't be used ({error}).") from error


@cache
def load_layer(part: str, names: tuple[str, ...], folder: Path = FOLDER) -> Layer | None:
    """Another part of head.json, which weighs these numbers; None where it is not fitted. Raises as `load_head`."""
    try:
        given = json.loads(verified_files(folder, MODEL_ID)["head.json"])
        return None if given.get(part) is None else Layer(*_layer(given[part], names))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"The local evaluator's files can't be used ({error}).") from error


def _layer(given: Mapping[str, object], names: Sequence[str]) -> tuple[tuple[float, ...], float]:
    """Weights and bias."""
    if given["features"] != list(names):
        raise ValueError("it was fitted on other features")
    weights, bias = given["weights"], given["bias"]
    if not isinstance(weights, list) or not isinstance(bias, float) or len(weights) != len(names):
        raise ValueError("its weights are no list of numbers")
    return tuple(float(weight) for weight in weights), bias


ANSWER_FEATURES = {
    "answers": ("relevance", "words", "chance", "formula"),
    "answers elsewhere": ("odds", "chance", "crossing"),
}
"""What the layers weigh that say how likely a quoted answer is right, by their names: the second where question or
source is in another language than English. relevance: the logit of the quoted source; words: the log-odds of the words
in it that answer; odds: that it answers; crossing: whether one of the two alone is English; the others are
`QuotedAnswer.facts`."""
ODDS = 6.0
"""Log-odds are clipped here."""

YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_BARE = re.compile(r"[\W_]+")


def answer_features(layer: str, answer: QuotedAnswer, read: Mapping[str, float]) -> tuple[float, ...]:
    """The numbers that `ANSWER_FEATURES` names for a layer. `read`: those that are read of `answer.text`."""
    known = {**answer.facts, **read, "words": clip(log_odds(answer.confidence or 0.0), ODDS)}
    return tuple(known.get(name, 0.0) for name in ANSWER_FEATURES[layer])


def clip(value: float, most: float) -> float:
    """The value within -most..most."""
    return max(-most, min(most, value))


def log_odds(chance: float) -> float:
    """The log-odds of a chance that is held within 0.001..0.999."""
    held = max(1e-3, min(1 - 1e-3, chance))
    return math.log(held / (1 - held))


def bare_words(text: str) -> str:
    """The words of an answer as they are compared: in lower case, one blank between."""
    return _BARE.sub(" ", text).strip().casefold()


def agrees(one: str, other: str) -> bool:
    """Whether two answers in bare words are the same, or one holds the other."""
    return bool(one and other) and (f" {one} " in f" {other} " or f" {other} " in f" {one} ")


SET_FEATURES = ("best", "agreeing", "covered", "years_unmet", "keywords", "closeness", "words", "rank")
"""One name a number that the layer weighs, in order."""
NEAREST = 4
"""How many of the best texts have their likeliest answers compared."""
ABSENT = 5
"""Words of the question that are named, of those that no text has."""


def read_set(
    question: str, texts: Sequence[GradedText], best: Sequence[tuple[str, Reading]], lexicon: Lexicon
) -> SetReadings:
    """What the texts say together, in the order in which they were found.

    `best`: those of the highest scores as the model read them, the best first.
    """
    _, reading = best[0]
    said = [bare_words(each[found.start : found.end]) for each, found in best]
    asked, held = words_by_stem(question), [stems(each.text) for each in texts]
    found = frozenset[str]().union(*held)
    absent = [(lexicon.rarity(root), word) for root, word in asked.items() if root not in found]
    keywords = [sum(lexicon.rarity(root) for root in asked if root in own) for own in held]
    years = tuple(dict.fromkeys(YEAR.findall(question[:MAX_CHARACTERS])))
    return SetReadings(
        best=max(each.score for each in texts),
        agreeing=sum(agrees(said[0], other) for other in said[1:]),
        covered=lexicon.coverage(question, *(each.text for each in texts)),
        absent=tuple(word for _, word in sorted(absent, key=lambda each: -each[0])[:ABSENT]),
        years=tuple(year for year in years if not any(year in each.text for each in texts)),
        years_asked=len(years),
        keywords=max(keywords) - sum(keywords) / len(keywords),
        closeness=reading.closeness,
        words=len(said[0].split()),
        rank=[each.score for each in texts].index(max(each.score for each in texts)),
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
        readings.keywords,
        readings.closeness,
        math.log1p(readings.words),
        math.log1p(readings.rank),
    )
