"""Pages that are read from right to left, mirrored so that all that lays out a page reads them like any other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from crag.ingest.objects import Box
from crag.ingest.words import PageWords, Word, is_right_to_left

_STOPS = re.compile(r"([.,:;!?]+)([^\W_].*)")
"""Marks before a word that stand behind it: a line's end is on its left."""


def mirror_page(page: PageWords) -> None:
    """Mirror the words and edges of a page most of whose letters are written from right to left."""
    ours = sum(len(word.text) for word in page.words if is_right_to_left(word.text))
    if not ours or 2 * ours <= sum(len(word.text) for word in page.words if any(map(str.isalpha, word.text))):
        return
    page.mirrored = True
    page.words = [
        replace(word, box=mirror_box(word.box, page.width), mirrored=True) if word.turn == 0 else word
        for word in page.words
    ]
    page.edges = [{**edge, "x0": page.width - edge["x1"], "x1": page.width - edge["x0"]} for edge in page.edges]


def mirror_box(box: Box, width: float) -> Box:
    """The box on a page of this width, seen in a mirror; seen twice, it is where it was."""
    return box._replace(left=width - box.right, right=width - box.left)


def order_line(words: Sequence[Word]) -> list[Word]:
    """The words of a mirrored line as they are read: within it, words of other scripts run the other way."""
    ordered: list[Word] = []
    across = sorted(words, key=lambda word: word.box.left)
    for ours, run in groupby(across, key=lambda word: is_right_to_left(word.text)):
        each = list(run)
        ordered += each if ours else reversed(each)
    last = ordered[-1]
    if len(ordered) > 1 and (stops := _STOPS.fullmatch(last.text)):
        ordered[-1] = replace(last, text=stops[2] + stops[1])
    return ordered
