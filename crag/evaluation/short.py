"""The words of a text that answer, with the chance that they are right: one logistic layer, fitted on data held apart.

What the model points at is mended at its edges first: whole words, no loose punctuation, an amount with its unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crag.core.types import SpanReading
from crag.evaluation.head import CLIP, load_layer, probability, stems, weigh
from crag.models.cross_encoder import FOLDER, Reading

SHORT_FEATURES = ("span", "relevance", "score", "words", "fits", "repeats")
"""One name a number that the layer weighs, in order."""
LONGEST = 160
"""Characters; what is longer is no short answer."""

_EDGE = " \t\r\n\"'“”‘’«»,;:–—-"
_UNIT = re.compile(
    r"\s?%|[\s-]?(?:thousand|million|billion|trillion)(?:\s(?:dollars|euros|people))?\b|\s?(?:percent|per cent)\b"
)
_OUT_OF = re.compile(r"\d[\d,.]*\s+(?:out\s+)?of\s+(?:the\s+)?$")
"""What stands before the second of two numbers, "52,811 of 92,125": quoted together, for one alone misleads."""
_PAIRS = {")": "(", "]": "["}
_NUMBER_ASKED = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|large|big|fast|often|deep|wide)\b|\bwhen\b"
    r"|\b(?:what|which)(?: \w+){0,2} (?:year|date|month|day|age|amount|number|percent\w*|share|rate|price|total)\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"\bwho(?:se|m)?\b", re.IGNORECASE)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|half|"
    r"thousand|million|billion|none|once|twice|daily|weekly|monthly|yearly|annually)\b",
    re.IGNORECASE,
)


def trim_answer(text: str, start: int, end: int) -> tuple[int, int]:
    """The characters [start, end) as one would quote them. Equal where nothing is left."""
    while 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start] in _EDGE:
        start += 1
    while start < end and _loose(text, start, end):
        end -= 1
    if start < end and text[start].isdigit() and start and text[start - 1] in "$€£¥":
        start -= 1
    if start < end and text[start].isdigit() and (part := _OUT_OF.search(text, max(0, start - 40), start)):
        start = part.start()
    if start < end and text[end - 1].isdigit() and (unit := _UNIT.match(text, end)):
        end = unit.end()
    return start, end


def _loose(text: str, start: int, end: int) -> bool:
    """Whether the last character belongs to what is around the words."""
    last, before = text[end - 1], text[start : end - 1]
    if last in _PAIRS:
        return before.count(_PAIRS[last]) <= before.count(last)
    if last == ".":  # a sentence's stop, unless letters before it have one each: U.S.
        return re.search(r"\b\w\.\w$", before) is None
    return last in _EDGE + "([?!"


def features(question: str, text: str, span: tuple[int, int], reading: Reading, score: float) -> tuple[float, ...]:
    """The numbers that `SHORT_FEATURES` names. `score` is the text's calibrated score, 0..1."""
    said = text[slice(*span)]
    odds = max(1e-3, min(1 - 1e-3, score))
    asked, context_stems = stems(question), stems(said)
    return (
        max(-CLIP, min(CLIP, reading.span / 2)),
        max(-CLIP, min(CLIP, reading.relevance)),
        math.log(odds / (1 - odds)),
        math.log(1 + len(said.split())),
        fits_kind(question, said),
        len(asked & context_stems) / len(context_stems) if context_stems else 1.0,
    )


def fits_kind(question: str, said: str) -> float:
    """1 where a number or name is asked for and said, -1 where it is asked for and not said, else 0."""
    if _NUMBER_ASKED.search(question):
        return 1.0 if _NUMBER.search(said) else -1.0
    if _NAME_ASKED.search(question):
        return 1.0 if any(word[:1].isupper() for word in said.split()) else -1.0
    return 0.0


@dataclass(frozen=True, slots=True)
class ShortLayer:
    """Weights of `SHORT_FEATURES` and a bias; their sum is the log-odds that the words are right."""

    weights: tuple[float, ...]
    bias: float

    def read(self, question: str, text: str, reading: Reading, score: float) -> SpanReading | None:
        """The words that the model points at, mended; None where there are none, or too many to be short."""
        start, end = trim_answer(text, reading.start, reading.end)
        if not any(character.isalnum() for character in text[start:end]) or end - start > LONGEST:
            return None
        values = features(question, text, (start, end), reading, score)
        if values[SHORT_FEATURES.index("repeats")] == 1.0 and not _CHOICE.search(question):
            return None  # what the question says itself is no answer to it
        return SpanReading(start=start, end=end, confidence=probability(weigh(self.weights, self.bias, values)))


@cache
def load_short(folder: Path = FOLDER) -> ShortLayer | None:
    """The shipped layer; None where none was fitted for these weights. Raises ModelError where it can't be used."""
    found = load_layer("short", SHORT_FEATURES, folder)
    return ShortLayer(*found) if found else None
