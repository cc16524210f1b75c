"""Sentences that go on over the end of a page: the page on which one begins has all of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from crag.ingest.sections import ComposedPage, Line
from crag.text.sentences import sentences

_ENDED = re.compile(r"[.!?:;。！？؟।…][\"'”’»)\]]*+\s*+$")
_PROSE_WORDS, _PROSE_CHARS = 6, 40
"""What the last line of a page has at least, if it may go on: a title or a label is shorter."""
_MOST_MOVED = 800
"""Characters of a sentence that may stand on the next page."""
_GOES_ON = re.compile(
    r"(?:[,–—-]|\b(?:a|an|the|and|or|of|in|to|for|by|with|at|from|on|as|is|are|was|were|be|that|which))$"
)


def join_sentences(pages: Iterable[ComposedPage]) -> Iterator[ComposedPage]:
    """The pages, each with the rest of its last sentence, which the next one has no more."""
    before: ComposedPage | None = None
    for page in pages:
        if before is not None:
            if end := _rest_of(before, page):
                _move(before, page, end)
            yield before
        before = page
    if before is not None:
        yield before


def _rest_of(before: ComposedPage, page: ComposedPage) -> int:
    """Where on a page the sentence ends that the page before it begins; 0 where none goes on."""
    last, first = before.text.rpartition("\n")[2], page.text.partition("\n")[0]
    whole = len(last) >= _PROSE_CHARS and (len(last.split()) >= _PROSE_WORDS or not last.isascii())
    if not whole or not first or _ENDED.search(before.text) or before.recognised != page.recognised:
        return 0
    if before.tables and before.tables[-1].end >= len(before.text) - len(last):
        return 0
    opened = any(table.start == 0 for table in page.tables[:1]) or any(at == 0 for at, _ in page.headings[:1])
    if opened or not _continues(last, first):
        return 0
    end = sentences(first[: 2 * _MOST_MOVED])[0][1]
    return end if end < _MOST_MOVED else 0


def _continues(last: str, first: str) -> bool:
    """Whether a line can be the next one of a sentence: it begins in lower case, or the one before can't end there."""
    letter = next((character for character in first if character.isalnum()), "")
    caseless = letter.isalpha() and letter.lower() == letter.upper()
    return letter.islower() or caseless or bool(_GOES_ON.search(last))


def _move(before: ComposedPage, page: ComposedPage, end: int) -> None:
    """Put the first `end` characters of a page behind the page before, with their lines, which keep their place."""
    divided = before.text.endswith("-") and page.text[:1].islower() and before.text[-2:-1].isalpha()
    if divided:
        before.text = before.text[:-1]
    start = len(before.text) + (0 if divided else 1)
    before.text += ("" if divided else " ") + page.text[:end]
    cut = len(page.text) - len(page.text[end:].lstrip())
    before.lines += [_part(line, line[0], min(line[1], end), start) for line in page.lines if line[0] < end]
    page.lines = [_part(line, max(line[0], cut), line[1], -cut) for line in page.lines if line[1] > cut]
    page.text = page.text[cut:]
    page.headings = [(at - cut, heading) for at, heading in page.headings]
    page.tables = [table.moved(-cut) for table in page.tables]


def _part(line: Line, first: int, last: int, by: int) -> Line:
    """The characters [first, last) of a line, moved `by` characters, its box cut in proportion."""
    start, end, left, top, right, bottom, confidence, number = line
    width = (right - left) / max(1, end - start)
    at, to = (round(left + width * (place - start), 2) for place in (first, last))
    return first + by, last + by, at, top, to, bottom, confidence, number
