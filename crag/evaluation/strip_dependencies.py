"""What a strip can't be understood without: a row its table's header and caption, a sentence the one it leans on. Pure.

Only direct needs are listed: what a strip needs has no say in what else is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.core.types import KeepReason
from crag.text.sentences import ends_as_sentence
from crag.text.words import count_words

Need = tuple[int, KeepReason]
"""The place of another strip of the same source, and what it is to the one that needs it."""

HEAD_WORDS = 40
"""Longer lines head no table."""
MOST_HEADS = 3
LIST_REACH = 12
"""How far above an item the line that introduces its list may stand, in strips."""

_LABELLED = re.compile(r"^.{1,160}?: [^;]{0,80}?\d")
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
    found: list[tuple[Need, ...]] = []
    rows = [_is_row(text) for text in strips]
    table = _Table()
    for place, text in enumerate(strips):
        found.append(table.heads if rows[place] else _leaned_on(strips, rows, place))
        table.goes_on(place, text, row=rows[place])
    return found


class _Table:
    """The table that is read, if one is: what its rows need."""

    def __init__(self) -> None:
        self._top: list[int] = []
        self._label: int | None = None
        self._values = False

    @property
    def heads(self) -> tuple[Need, ...]:
        """The first lines, up to the first values, and the label that stands nearest above the next row."""
        label = [self._label] if self._label is not None and self._label not in self._top else []
        return tuple((place, "context") for place in (*self._top, *label))

    def goes_on(self, place: int, text: str, *, row: bool) -> None:
        """Reads one more strip: text that may head a table goes on with it, other text ends it."""
        head = _is_head(text)
        if not row and not head:
            self._top, self._label, self._values = [], None, False
            return
        self._values = self._values or (row and _opens_with_values(text))
        if head and not self._values and len(self._top) < MOST_HEADS:
            self._top.append(place)
        if not row:
            self._label = place


def _is_row(text: str) -> bool:
    """Whether a strip is a table row, or some: a label with values."""
    return any(_is_value(line) for line in text.split("\n"))


def _is_value(line: str) -> bool:
    """Whether a line is a label with values, or several cells."""
    if ends_as_sentence(line[-8:]):
        return False
    cells = line.count("; ") + 1 + line.count("|") + line.count("\t")
    return _LABELLED.match(line) is not None or cells > 2 or (cells == 2 and line[:1].isdigit())


def _is_head(text: str) -> bool:
    """Whether a strip may stand in a table and hold no values, or begins with a line that is so."""
    return not ends_as_sentence(text[-8:]) and count_words(text) <= HEAD_WORDS


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
