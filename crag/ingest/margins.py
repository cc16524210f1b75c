"""Numbers of lines that stand in a page's margin, as on pleadings and manuscripts: they are no part of the text.

Left in, they part the sentences that they stand beside: "was extended until / 8 August 4, 2016".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from crag.ingest.words import PageWords, Word

_LEAST = 20
"""Numbers of a run: a list or a table of as many lines, evenly spaced over a page, is rare."""
_HEIGHT = 0.5
"""The least share of the page's height that a run covers."""
_DIGITS = 4
_OUTER = 20
"""One in this many of the other words may stand further out than the numbers: headers and footers do."""
_ALIGNED = 8.0
"""Points between the edges of numbers that stand in one column."""
_EVEN = 0.25
"""By how much the distance of two lines may differ from the usual one."""
_MOST_UNEVEN = 0.2
_GAP = 1.5
"""Heights of a line: words further apart are cells."""
_PROSE, _ALONE = 0.4, 0.25
"""The least share of numbers beside running text, or beside nothing. A table's numbers stand beside cells."""


def drop_line_numbers(page: PageWords) -> PageWords:
    """The page without a column of line numbers in its left or right margin; the page itself where there is none."""
    upright = [word for word in page.words if word.turn == 0]
    numbers = [word for word in upright if word.text.isdecimal() and len(word.text) <= _DIGITS]
    if len(numbers) < _LEAST:
        return page
    known = {id(word) for word in numbers}
    others = [word for word in upright if id(word) not in known]
    if not others:
        return page
    outer = len(others) // _OUTER
    left = sorted(word.box.left for word in others)[outer]
    right = sorted((word.box.right for word in others), reverse=True)[outer]
    dropped: set[int] = set()
    for column in ([w for w in numbers if w.box.right <= left], [w for w in numbers if w.box.left >= right]):
        run = _longest_run(column)
        if _are_lines(run, page.height) and _beside_prose(run, others):
            dropped |= {id(word) for word in run}
    return replace(page, words=[word for word in page.words if id(word) not in dropped]) if dropped else page


def _longest_run(column: Sequence[Word]) -> list[Word]:
    """The most numbers, one below the other, each one more than the last."""
    best: list[Word] = []
    run: list[Word] = []
    for word in sorted(column, key=lambda each: each.box.top):
        if not run or int(word.text) != int(run[-1].text) + 1:
            run = []
        run.append(word)
        if len(run) >= len(best):
            best = run
    return best


def _are_lines(run: Sequence[Word], height: float) -> bool:
    """Whether they stand in one column, as far apart as lines do, over most of the page."""
    if len(run) < _LEAST or run[-1].box.bottom - run[0].box.top < _HEIGHT * height:
        return False
    if not (_aligned([word.box.left for word in run]) or _aligned([word.box.right for word in run])):
        return False
    steps = [below.box.top - above.box.top for above, below in pairwise(run)]
    usual = median(steps)
    return sum(abs(step - usual) > _EVEN * usual for step in steps) <= _MOST_UNEVEN * len(steps)


def _aligned(edges: Sequence[float]) -> bool:
    middle = median(edges)
    return all(abs(edge - middle) <= _ALIGNED for edge in edges)


def _beside_prose(run: Sequence[Word], others: Sequence[Word]) -> bool:
    """Whether enough of the numbers stand beside running text, or beside nothing at all."""
    steps = [below.box.top - above.box.top for above, below in pairwise(run)]
    first, step = (run[0].box.top + run[0].box.bottom) / 2, median(steps)
    rows: list[list[Word]] = [[] for _ in run]
    for word in others:
        place = round(((word.box.top + word.box.bottom) / 2 - first) / step)
        if 0 <= place < len(rows):
            rows[place].append(word)
    alone = sum(not row for row in rows)
    prose = sum(len(row) > 3 and _runs_on(row) for row in rows)
    return prose >= _PROSE * len(rows) or alone >= _ALONE * len(rows)


def _runs_on(row: Sequence[Word]) -> bool:
    """Whether no two neighbours are as far apart as cells."""
    ordered = sorted(row, key=lambda word: word.box.left)
    return all(
        right.box.left - left.box.right <= _GAP * max(1.0, left.box.bottom - left.box.top)
        for left, right in pairwise(ordered)
    )
