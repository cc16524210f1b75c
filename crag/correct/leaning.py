"""What a strip can't be understood without: a row its table's header and caption, a sentence the one it leans on. Pure.

Only direct needs are told: what a strip needs has no say in what else is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.core.types import Kept

__all__ = ["Need", "needs"]

Need = tuple[int, Kept]
"""The place of another strip of the same source, and what it is to the one that needs it."""

HEAD_WORDS = 40
"""Longer lines head no table."""
MOST_HEADS = 3
LIST_REACH = 12
"""How far above an item the line that introduces its list may stand, in strips."""

_VALUE = re.compile(r"^.{1,160}?: [^;]*\d|\d.*; .*\d|\|.*\||\t.*\t")
_ENDED = re.compile(r"[.!?]['\"”’)]*$")
_ITEM = re.compile(r"(?:[•●▪◦*–—-]|\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})[).])\s")
_LEANS = re.compile(
    r"(?:it|its|they|their|them|he|his|him|she|her|this|that|these|those|such|both|neither|former|latter|"
    r"however|therefore|thus|hence|also|moreover|furthermore|additionally|instead|similarly|likewise|consequently|"
    r"accordingly|nevertheless|nonetheless|otherwise|meanwhile|then|but|and|or|nor|so|yet|which|"
    r"as a result|for example|for instance|in addition|in contrast|by contrast|on the other hand|in particular|"
    r"the (?:same|former|latter|increase|decrease|decline|change|growth|improvement)s?)\b",
    re.IGNORECASE,
)


def needs(strips: Sequence[str]) -> list[tuple[Need, ...]]:
    """For each strip of one source, in reading order, the others that it needs, in reading order."""
    rows = [_is_row(text) for text in strips]
    return [
        _heads(strips, rows, place) if rows[place] else _leaned_on(strips, rows, place) for place in range(len(strips))
    ]


def _is_row(text: str) -> bool:
    """Whether a strip is a table row, or some: a label with values."""
    return any(_is_value(line) for line in text.split("\n"))


def _is_value(line: str) -> bool:
    return not _ENDED.search(line) and _VALUE.search(line) is not None


def _is_head(text: str) -> bool:
    """Whether a strip may stand in a table and hold no values, or begins with a line that is so."""
    return not _ENDED.search(text) and len(text.split()) <= HEAD_WORDS


def _heads(strips: Sequence[str], rows: Sequence[bool], place: int) -> tuple[Need, ...]:
    """The first lines of the row's table, up to its first values, and the label that stands nearest above the row."""
    top = place
    while top and (rows[top - 1] or _is_head(strips[top - 1])):
        top -= 1
    found: list[int] = []
    for above in range(top, place):
        if len(found) == MOST_HEADS or (rows[above] and _opens_with_values(strips[above])):
            break
        if _is_head(strips[above]):
            found.append(above)
    label = next((above for above in range(place - 1, top - 1, -1) if not rows[above]), None)
    if label is not None and label not in found:
        found.append(label)
    return tuple((above, "context") for above in found)


def _opens_with_values(text: str) -> bool:
    """Whether the first line has a label and values; a line of years alone has none."""
    first = text.partition("\n")[0]
    return ": " in first and _is_value(first)


def _leaned_on(strips: Sequence[str], rows: Sequence[bool], place: int) -> tuple[Need, ...]:
    text = strips[place]
    found: list[Need] = []
    if _ITEM.match(text):
        above = range(place - 1, max(-1, place - 1 - LIST_REACH), -1)
        opening = next((other for other in above if strips[other].endswith(":")), None)
        found += [(opening, "neighbour")] if opening is not None else []
    elif place and not rows[place - 1] and (text[:1].islower() or _LEANS.match(text)):
        found.append((place - 1, "neighbour"))
    if text.endswith(":") and place + 1 < len(strips):
        found.append((place + 1, "neighbour"))
    return tuple(found)
