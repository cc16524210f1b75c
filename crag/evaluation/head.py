"""From what is known of a question and a text to a calibrated score: one logistic layer, fitted on data held apart.

Beside the model's reading it weighs how much of the question's wording the text has, rare words counting most: a small
model reads names badly.
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
from crag.core.types import GradePart
from crag.models.cross_encoder import FOLDER, MODEL_ID, Reading
from crag.models.pairing import STOP
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
        """What each reading, and the bias, adds to the log-odds, in the order of `FEATURES`."""
        values = dict(zip(FEATURES, features(reading, coverage), strict=True))
        adds = dict.fromkeys(PART_OF.values(), 0.0)
        for name, weight in zip(FEATURES, self.weights, strict=True):
            adds[PART_OF[name]] += weight * values[name]
        parts = (GradePart(name=name, value=values[name], adds=added) for name, added in adds.items())
        return *parts, GradePart(name="bias", value=None, adds=self.bias)

    def score(self, reading: Reading, coverage: float) -> float:
        """The calibrated score, 0..1."""
        return probability(self.odds(reading, coverage))


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
class StripHead:
    """Weights of `STRIP_FEATURES` and a bias; their sum is the log-odds that a strip is evidence."""

    weights: tuple[float, ...]
    bias: float

    def score(self, reading: Reading, start: int, end: int, odds: float) -> float:
        """The calibrated score of the text's [start, end), 0..1."""
        return probability(weigh(self.weights, self.bias, strip_features(reading, start, end, odds)))


def probability(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


def weigh(weights: Sequence[float], bias: float, values: Sequence[float]) -> float:
    """The log-odds that a layer gives for the numbers of its features."""
    return bias + sum(weight * value for weight, value in zip(weights, values, strict=True))


def load_head(folder: Path = FOLDER) -> tuple[Head, Lexicon]:
    """The shipped head and word counts. Raises ModelError if a file is missing, damaged or of other features."""
    head, _, lexicon = _load(folder)
    return head, lexicon


def load_strip_head(folder: Path = FOLDER) -> StripHead:
    """The shipped head for strips. Raises ModelError as `load_head` does."""
    return _load(folder)[1]


@cache
def _load(folder: Path) -> tuple[Head, StripHead, Lexicon]:
    try:
        files = verified_files(folder, MODEL_ID)
        given = json.loads(files["head.json"])
        head, strips = Head(*_layer(given, FEATURES)), StripHead(*_layer(given["strips"], STRIP_FEATURES))
        counted = json.loads(files["lexicon.json"])
        return head, strips, Lexicon(counted["paragraphs"], counted["counts"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"The local evaluator's files can't be used ({error}).") from error


def load_layer(part: str, names: Sequence[str], folder: Path = FOLDER) -> tuple[tuple[float, ...], float] | None:
    """Weights and bias of another part of head.json; None where it is not fitted. Raises as `load_head`."""
    try:
        given = json.loads(verified_files(folder, MODEL_ID)["head.json"])
        return None if given.get(part) is None else _layer(given[part], names)
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
