"""Lines that a text breaks only to keep them short, joined again. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from operator import itemgetter
from unicodedata import east_asian_width

_LEAST_WIDTH, _LEAST_LINES = 40, 5
"""Of a text that is wrapped: letters across, and breaks within paragraphs."""
_FULL = 0.7
"""The share of these breaks that come where the next word had no room; verse, addresses and notes have fewer."""
_FENCE = re.compile(r"\s*(?:```|~~~)")
_KEPT = re.compile(r"\s*(?:[|#>]|[-=]{3,}\s*$)|.*(?:\S {2,}\S|\t|\\$| {2}$)")
"""A line of a table, a heading, a quotation, a rule, with columns, or with a break that Markdown asks for."""
_BEGINS = re.compile(r"\s*(?:[•‣◦▪●○·*+–—-]\s|\(?\w{1,3}[.)]\s|[\w-]{0,24}:\s)")
"""An item of a list, a field with its name, or what is said of a term."""
_CUT = re.compile(r"[^\W\d_][-\u00ad]$")
_INDENTED = 4
"""Blanks that begin a block of code."""


def unwrap(text: str) -> str:
    """The text with a blank for each break that comes where the next word had no room; n log n in the lines."""
    lines = text.split("\n")
    rooms = {at: (len(lines[at]), len(lines[at]) + 1 + _first_end(lines[at + 1])) for at in _breaks_within(lines)}
    width, many = _find_width(rooms.values())
    if width < _LEAST_WIDTH or many < max(_LEAST_LINES, _FULL * sum(had <= width for had, _ in rooms.values())):
        return text
    full = {at for at, (_, wanted) in rooms.items() if wanted > width}
    parts = []
    for at, line in enumerate(lines):
        part = line.lstrip() if at - 1 in full else line
        parts.append(f"{part.rstrip()} " if at in full else f"{part}\n")
    return "".join(parts)[:-1]


def _find_width(rooms: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The width that explains most breaks, and how many: a line fits in it, with the next word it does not."""
    steps = Counter[int]()
    for had, wanted in rooms:
        steps[had] += 1
        steps[wanted] -= 1
    widths = sorted(steps)
    many = list(accumulate(steps[width] for width in widths))
    return max(zip(widths, many, strict=True), key=itemgetter(1), default=(0, 0))


def _breaks_within(lines: list[str]) -> Iterator[int]:
    """The places of lines that the next one may go on."""
    fenced = False
    for at, (line, following) in enumerate(pairwise(lines)):
        fenced ^= _FENCE.match(line) is not None
        if fenced or not line.strip() or not following.strip() or _FENCE.match(following):
            continue
        mark = _BEGINS.match(line)
        begins = _indent(line, mark.end() if mark else 0)
        if _KEPT.match(line, begins) or _KEPT.match(following) or _BEGINS.match(following) or _CUT.search(line):
            continue
        indent = _indent(following)
        # Scripts that put no blanks between words are wide.
        wide = any(east_asian_width(letter) in "WF" for letter in (line[-1], following[indent]))
        if indent < begins + _INDENTED and not wide:
            yield at


def _indent(line: str, start: int = 0) -> int:
    """Where the first word from `start` on begins."""
    return len(line) - len(line[start:].lstrip())


def _first_end(line: str) -> int:
    """How far the first word reaches from where the line begins."""
    return _indent(line) + len(line.split(None, 1)[0])
