"""Pages that are a table of contents, or a list of figures or tables: they say where something stands, not what it is.

An entry is a line that ends in a number; its words stand on the page with that number, counted from the same page on
for all. No word of any language is looked for. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from crag.core.ingesting import Page

_NUMBERED = re.compile(r"^([^\n]{1,200}?)(?<!\d)(\d{1,4})[^\w\n]{0,3}$", re.MULTILINE)
_LEADER = re.compile(r"(?<!\.)(?<!\.[ ;:])(?:[ ;:]?\.){3,}+[ ;:]*+(\d{1,4})(?!\w)")
"""Dots that lead to a number: entries of several columns may then stand in one line, in any order."""
_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_ENTRIES, _SHARE = 3, 0.6
"""How many entries a page has at least; the share of its letters that they hold, and of them that lead."""
_LEAST_LETTERS, _LINE_CHARS, _MOST_LINES, _MOST_PAGES, _SHIFTED, _TRIED = 4, 200, 200, 20, 100, 12
"""Letters of an entry at least and at most, entries of such a page, pages that are looked at, how much
larger than the number of pages a number may be, for pages that stand before or are left out, and the entries of a page
that are looked for on all others, to learn how pages are counted."""


def find_contents(pages: Sequence[Page]) -> frozenset[int]:
    """The numbers of the pages that are contents. Takes time by the text, some hundred times at most.

    On such a page no number is much larger than the number of pages, and none falls where no dots lead to it.
    """
    may = {page.number: found for page in pages if (found := _entries(page, len(pages) + _SHIFTED))}
    folded = {page.number: _fold(page.text) for page in pages} if may else {}
    return frozenset(number for number, entries in list(may.items())[:_MOST_PAGES] if _lead(number, entries, folded))


def _fold(text: str) -> str:
    return "".join(_LETTERS.findall(text)).casefold()


def _entries(page: Page, most: int) -> list[tuple[str, int]]:
    """The letters of each line, or of what dots lead on from, that may be an entry, and its number; empty where the
    page can't be contents.
    """
    parts, dotted = list[tuple[str, str]](), 0
    for line in page.text.split("\n"):
        led = _LEADER.split(line)
        dotted += len(led) // 2
        parts += zip(led[::2], led[1::2], strict=False) if len(led) > 1 else _NUMBERED.findall(line)
    found, held = list[tuple[str, int]](), 0
    for text, number in parts:
        # The cell of a page number may have a header of its own.
        label = _fold(text if dotted >= _LEAST_ENTRIES else re.split(r"[;:](?=[^;:]*$)", text)[0])
        if _LEAST_LETTERS <= len(label) <= _LINE_CHARS and int(number) <= most:
            found.append((label, int(number)))
            held += len(_fold(text))
    ordered = dotted >= _LEAST_ENTRIES or [number for _, number in found] == sorted(number for _, number in found)
    likely = ordered and held >= _SHARE * len(_fold(page.text))
    return found if likely and _LEAST_ENTRIES <= len(found) <= _MOST_LINES else []


def _lead(own: int, entries: Sequence[tuple[str, int]], folded: Mapping[int, str]) -> bool:
    """Whether most entries stand on the page with their number, the pages counted from one and the same on."""
    least = max(_LEAST_ENTRIES, _SHARE * len(entries))
    shifts = Counter(
        number - said
        for label, said in entries[:: len(entries) // _TRIED + 1]
        for number, text in folded.items()
        if number != own and label in text
    )
    return any(
        sum(label in folded.get(said + shift, "") for label, said in entries) >= least
        for shift, _ in shifts.most_common(3)
    )
