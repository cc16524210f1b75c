"""Sums, differences, means, shares and changes that a sentence states, worked out from values that it cites. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from crag.text.numerals import Number
from crag.text.words import FUNCTION_WORDS, stem, words

__all__ = ["Operand", "Row", "explain_arithmetic"]

MOST_OPERANDS = 24
"""Values of one line that are put together by twos."""
MOST_ROWS = 60
"""Lines of the cited texts that are looked at."""
MOST_NAMED = 8
"""The most lines of a table that one sentence may combine."""

_SUM = re.compile(r"\b(?:total\w*|sum|combined|together|altogether|in\sall|both|overall|aggregate|plus)\b", re.I)
_DIFFERENCE = re.compile(
    r"\b(?:increas\w*|decreas\w*|r[io]se\w*|risen|fell|fall(?:s|en)?|grew|grow\w*|declin\w*|drop\w*|chang\w*|differ\w*"
    r"|gain\w*|lost|reduc\w*|up|down|more|less|fewer|higher|lower|greater|older|younger|longer|later|earlier|minus"
    r"|widen\w*|narrow\w*|improv\w*|gap|by)\b",
    re.I,
)
_PERCENT = re.compile(r"%|\bper\s?cent\w*", re.I)
_SHARE = re.compile(r"\b(?:share|percent\w*|proportion|portion|fraction|margin|rate|of)\b|%", re.I)
_PART = re.compile(r"\b(?:share|proportion|portion|fraction)\b", re.I)
_RATIO = re.compile(r"\b(?:ratio|times|per|divided|turnover)\b", re.I)
_MEAN = re.compile(r"\b(?:averag\w*|mean)\b", re.I)
_LASTING = re.compile(r"\s?-?\b(?:years?|seasons?|terms?)\b", re.I)


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that is cited, with its sign, and how it is written there."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of what is cited: the stems of the words before its first value, and its values in order.

    `scales`: what its values may be counted in.
    """

    label: frozenset[str]
    values: tuple[Operand, ...]
    scales: tuple[float, ...] = (1.0,)


_Operation = tuple[str, Callable[[float, float], float]]


def explain_arithmetic(
    sentence: str, number: Number, stated: Sequence[Operand], rows: Sequence[Row], years: Sequence[int] = ()
) -> str:
    """How the number comes out of cited values, as "1,577 - 1,498"; "" where it does not, or isn't said to.

    Looked at are the values that the sentence itself states and that stand, those of one line of what is cited, and
    those of two lines that the sentence names. A single digit comes out of too much: it must be of stated values, or
    the time between two `years` that the sentence names.
    """
    if not number.values:
        return ""
    if _LASTING.match(sentence, number.end) and (lasted := _lasted(number, years)):
        return lasted
    operations = [*_operations(sentence, number)]
    if found := _of_pairs(combinations(stated[:MOST_OPERANDS], 2), operations, number, (1.0,)):
        return found
    if len(number.text.strip("$€£¥% ")) < 2:
        return ""
    within = [each for each in operations if each[0] != "share"]
    for row in rows[:MOST_ROWS]:
        pairs = combinations(row.values[:MOST_OPERANDS], 2)
        if found := _of_pairs(pairs, within, number, row.scales) or _of_several(sentence, row, number):
            return found
    for one, other in combinations(_find_named_rows(sentence, rows), 2):
        across = product(one.values[:MOST_NAMED], other.values[:MOST_NAMED])
        if found := _of_pairs(across, operations, number, one.scales):
            return found
    return ""


def _of_pairs(
    pairs: Iterable[tuple[Operand, Operand]], operations: Sequence[_Operation], number: Number, scales: Sequence[float]
) -> str:
    for left, right in pairs if operations else ():
        for sign, result in operations:
            for one, other in ((left, right), (right, left)):
                if _shows(number, result(one.value, other.value), scales):
                    return _format_operation(sign, one.text, other.text)
    return ""


def _of_several(sentence: str, row: Row, number: Number) -> str:
    """Three values or more in a row as a sum or a mean."""
    adds, means = _SUM.search(sentence), _MEAN.search(sentence)
    if not adds and not means:
        return ""
    values = row.values[:MOST_OPERANDS]
    for first, last in combinations(range(len(values) + 1), 2):
        run = values[first:last]
        if len(run) < 2:
            continue
        total = sum(each.value for each in run)
        said = " + ".join(each.text for each in run)
        if adds and len(run) > 2 and _shows(number, total, row.scales):
            return said
        if means and _shows(number, total / len(run), row.scales):
            return f"({said}) / {len(run)}"
    return ""


def _lasted(number: Number, years: Sequence[int]) -> str:
    """The time from one year to another; a season or a term counts both."""
    for one, other in combinations(sorted(set(years))[:MOST_OPERANDS], 2):
        if number.values[0] == other - one:
            return f"{other} - {one}"
        if number.values[0] == other - one + 1:
            return f"{one} to {other}"
    return ""


def _find_named_rows(sentence: str, rows: Sequence[Row]) -> list[Row]:
    """The lines of whose label the sentence says all words that say something."""
    said = stems(sentence)
    return [row for row in rows[:MOST_ROWS] if row.label and row.label <= said][:MOST_NAMED]


def stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in FUNCTION_WORDS and not word.isdigit())


def _operations(sentence: str, number: Number) -> Iterator[_Operation]:
    if number.unit == "%" or (not number.unit and not number.scaled and _PERCENT.search(sentence)):
        if _DIFFERENCE.search(sentence):
            yield "change", lambda one, other: abs(one - other) / abs(other) * 100 if other else 0.0
        if _SHARE.search(sentence):
            yield "share", lambda one, other: one / other * 100 if other else 0.0
    if _DIFFERENCE.search(sentence):
        yield "-", lambda one, other: max(one - other, 0.0)
    if number.unit == "%":
        return
    if _PART.search(sentence):
        yield "share", lambda one, other: one / other if other else 0.0
    if _SUM.search(sentence):
        yield "+", lambda one, other: one + other
    if _RATIO.search(sentence):
        yield "/", lambda one, other: one / other if other else 0.0


def _shows(number: Number, value: float, scales: Sequence[float]) -> bool:
    """Whether the value, counted in any of the scales, is what the number shows, rounded to its digits."""
    if not value:
        return False
    return any(
        abs(abs(value) * scale - wanted) <= step / 2 * (1 + 1e-9)
        for wanted, step in zip(number.values, number.steps, strict=False)
        for scale in scales
    )


def _format_operation(sign: str, one: str, other: str) -> str:
    match sign:
        case "change":
            return f"({one} - {other}) / {other}"
        case "share":
            return f"{one} / {other}"
        case _:
            return f"{one} {sign} {other}"
