"""From what is known of a question and a text to a calibrated score: one logistic layer, fitted on data held apart."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crag.core.errors import ModelError
from crag.evaluator.lexicon import Lexicon
from crag.models.cross_encoder import FOLDER, MODEL_ID, Reading
from crag.models.files import verified_files

__all__ = ["FEATURES", "Head", "features", "load_head"]

FEATURES = (
    *("relevance", "span", "either", "length", "relevance_by_length", "span_by_length"),
    *("coverage", "closeness"),
)
"""One name a number that the layer weighs, in order."""
CLIP = 12.0


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

    def score(self, reading: Reading, coverage: float) -> float:
        """The calibrated score, 0..1."""
        total = self.bias + sum(
            weight * value for weight, value in zip(self.weights, features(reading, coverage), strict=True)
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@cache
def load_head(folder: Path = FOLDER) -> tuple[Head, Lexicon]:
    """The shipped head and word counts. Raises ModelError if a file is missing, damaged or of other features."""
    try:
        files = verified_files(folder, MODEL_ID)
        given: Mapping[str, object] = json.loads(files["head.json"])
        if given["features"] != list(FEATURES):
            raise ValueError("it was fitted on other features")
        weights, bias = given["weights"], given["bias"]
        if not isinstance(weights, list) or not isinstance(bias, float) or len(weights) != len(FEATURES):
            raise ValueError("its weights are no list of numbers")
        counted = json.loads(files["lexicon.json"])
        lexicon = Lexicon(counted["paragraphs"], counted["counts"])
        return Head(tuple(float(weight) for weight in weights), bias), lexicon
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"The local evaluator's files can't be used ({error}).") from error
