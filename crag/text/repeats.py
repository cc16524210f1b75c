"""Text that repeats itself without end, as small models write it."""

from __future__ import annotations

import re

LEAST, CHARS = 3, 160
"""Copies one after another, and characters of them all, from which it is a loop."""
LINES, LINE_CHARS = 4, 20
"""Lines, alike but for their numbers, from which it is a loop; and the characters that each has."""
WINDOW = 2400
"""How much of the end is looked at: three copies of a longer text are not found."""

_SENTENCE = re.compile(r"[.!?][\])\"'”]*\s+")
_NUMBER = re.compile(r"^\W*(?:\d+[.):]?)?\s*")


def loop_in(text: str) -> int | None:
    """Where the first copy of what a text repeats at its end is over; None where it repeats nothing."""
    tail = text[-WINDOW:]
    begins, period = _periodic(tail)
    if period:
        start = len(text) - len(tail) + begins
        while start and text[start - 1] == text[start - 1 + period]:
            start -= 1
        # A copy may begin in the middle of a sentence: what is kept goes on to the end of it.
        first = start + period
        ends = _SENTENCE.search(text, max(0, first - 8), first + period)
        return ends.end() if ends and ends.end() >= first else first
    return _lines(text)


def _periodic(tail: str) -> tuple[int, int]:
    """Where the longest run of copies at the end begins, and how long one is; (0, 0) where there is none.

    The text is read backwards with Knuth, Morris and Pratt's table of what each beginning repeats.
    """
    turned, table, found = tail[::-1], [0], (0, 0)
    for place in range(1, len(turned)):
        known = table[-1]
        while known and turned[known] != turned[place]:
            known = table[known - 1]
        table.append(known + (turned[known] == turned[place]))
        length = place + 1
        period = length - table[-1]
        if length >= max(CHARS, LEAST * period):
            found = len(tail) - length, period
    return found


def _lines(text: str) -> int | None:
    """The same of lines that differ in their numbers alone; the last, which may be unfinished, does not count."""
    ends, whole = list[int](), list[str]()
    place = 0
    for line in text.split("\n")[:-1]:
        place += len(line) + 1
        if line.strip():
            ends.append(place)
            whole.append(_NUMBER.sub("", line.strip()))
    if len(whole) < LINES or len(whole[-1]) < LINE_CHARS or len(set(whole[-LINES:])) > 1:
        return None
    first = len(whole) - LINES
    while first and whole[first - 1] == whole[-1]:
        first -= 1
    return ends[first]
