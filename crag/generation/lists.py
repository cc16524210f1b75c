"""Lists in a text: which line stands over an item, and which items a line leads to that ends no sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crag.text.sentences import ITEM, ends_as_sentence

Span = tuple[int, int]

LABELLED = re.compile(r"([^\W\d_][^:;|\n]{1,59}?)\s?:[^\S\n]+([^\s:;|][^:;|\n]{0,119})")
"""A label and its value, alone on their line."""
VALUED = re.compile(
    r"([^\W\d_][\w’'/-]{0,29}(?: [\w’'/-]{1,30}){1,4}?)(?: of| is)? ([$€£]?\d[\d,.]{0,15}%?(?: [a-z]{1,12})?)"
)
"""The same in an item of a list without a colon: "Minimum age 17"."""
_MOST_HEAD = 9
"""Words of a line that stands over a list."""


def head_lines(text: str) -> dict[int, str]:
    """For the place where the line of an item begins, the line that its list stands under, where there is one.

    An item is a line with a bullet, or of a label and its value. A line over items is short and no sentence.
    """
    found: dict[int, str] = {}
    head = ""
    lines = list(lines_of(text))
    for at, (start, end) in enumerate(lines):
        line = text[start:end]
        if _is_item(line):
            if head:
                found[start] = head
        elif at + 1 < len(lines) and _is_head(line, text[slice(*lines[at + 1])]):
            head = line
        elif ends_as_sentence(line):
            head = ""
    return found


def list_end(text: str, start: int, end: int) -> int | None:
    """Where the list ends that [start, end) leads to or begins: a line that ends no sentence, then nothing but items.

    Behind "(1) Books are also" stands "a) sheet music", and "(2) Others are not" no more. None where it leads to none.
    """
    lead: str | None = None
    last = None
    for first, stop in lines_of(text, start):
        form = _form_of(text, first, stop)
        item = lead is not None and form not in ("", lead)
        if first >= end and not item:
            break
        if item:
            last = stop
        else:
            lead, last = (None if ends_as_sentence(text[first:stop]) else form), None
    return last


def _form_of(text: str, start: int, end: int) -> str:
    """How an item is marked, "1.", "(1)", "a)" or "-", whichever it is; empty for a line that is none."""
    mark = ITEM.match(text, start, end)
    shape = ("1" if each.isdigit() else "a" if each.isalpha() else each for each in (mark[0] if mark else ""))
    return "".join(dict.fromkeys(shape))


def _is_item(line: str) -> bool:
    return ITEM.match(line) is not None or LABELLED.fullmatch(line) is not None


def _is_head(line: str, following: str) -> bool:
    if len(line.split()) > _MOST_HEAD or line[0].islower() or line[-1] in ".!?,;":
        return False
    return _is_item(following)


def lines_of(text: str, start: int = 0) -> Iterator[Span]:
    """The lines from `start` on without outer blanks, as [start, end), one by one: a long text is not read whole."""
    while start < len(text):
        found = text.find("\n", start)
        end = len(text) if found < 0 else found
        if line := text[start:end].strip():
            first = text.index(line[0], start)
            yield first, first + len(line)
        start = end + 1
