"""Pages that are a table of contents, or a list of figures or tables: they say where something stands, not what it is.

An entry is a line that ends in a number; its words stand on the page with that number, counted from the same page on
for all. No word of any language is looked for. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from crag.core.ingesting import Page

_NUMBER = re.compile(r"(?<!\d)(\d{1,4})[^\w]{0,3}$")
_LEADER = re.compile(r"(?<!\.)(?<!\.[ ;:])(?:[ ;:]?\.){3,}+[ ;:]*+(\d{1,4})(?!\w)")
"""Dots that lead to a number: entries of several columns may then stand in one line, in any order."""
_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_ENTRIES, _SHARE = 3, 0.6
"""How many entries a page has at least; the share of its lines that are entries, and of these that lead somewhere."""
_LEAST_LETTERS, _LINE_CHARS, _MOST_LINES, _MOST_PAGES, _SHIFTED = 4, 200, 200, 50, 100
"""Letters of an entry, characters of a line that is one, lines of such a page, pages that are looked at, and how much
larger than the number of pages a number may be, for pages that stand before or are left out."""


def find_contents(pages: Sequence[Page]) -> frozenset[int]:
    """The numbers of the pages that are contents. Takes time by the text, and by the pages for each page that may be.

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
    led = _LEADER.split(page.text)
    if len(led) > 2 * _LEAST_ENTRIES:
        found = [(_fold(label), int(number)) for label, number in zip(led[::2], led[1::2], strict=False)]
        return found if len(found) <= _MOST_LINES and max(number for _, number in found) <= most else []
    lines = [line for line in page.text.split("\n") if len(_LETTERS.findall(line[:_LINE_CHARS]))]
    found = []
    for line in lines if len(lines) <= _MOST_LINES else ():
        number = _NUMBER.search(line) if len(line) <= _LINE_CHARS else None
        # The cell of a page number may have a header of its own.
        words = _fold(line[: max(line.rfind(";"), line.rfind(":"))] if ":" in line or ";" in line else line)
        if number and len(words) >= _LEAST_LETTERS:
            found.append((words, int(number[1])))
    numbers = [number for _, number in found]
    if len(found) < max(_LEAST_ENTRIES, _SHARE * len(lines)) or numbers != sorted(numbers) or numbers[-1] > most:
        return []
    return found


def _lead(own: int, entries: Sequence[tuple[str, int]], folded: dict[int, str]) -> bool:
    """Whether most entries stand on the page with their number, the pages counted from one and the same on."""
    shifts = Counter(
        number - said for words, said in entries for number, text in folded.items() if number != own and words in text
    )
    return any(found >= max(_LEAST_ENTRIES, _SHARE * len(entries)) for found in shifts.values())
