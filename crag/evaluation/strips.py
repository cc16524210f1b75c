"""Knowledge strips: a text is decomposed into spans that are scored alone, then filtered (paper §4.4).

Recomposition needs no code: kept strips stay in reading order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from crag.core.settings import Settings
from crag.core.types import Strip
from crag.evaluation.strip_selection import Facts, Rule, choose
from crag.text.sentences import ends_as_sentence, is_table_row, sentences
from crag.text.words import SPACED, count_words

Span = tuple[int, int]

WINDOW_WORDS = 50
"""A fixed window (paper §4.4)."""
TAIL_WORDS = 10
"""A last window shorter than this joins the one before it."""
FRAGMENT_WORDS = 5
"""A sentence of at most this many words says too little to be scored alone."""

LABEL_WORDS = 60
"""A text of more words that ends in a colon stands alone."""

_LINE = re.compile(r"[^\n]+")
_CELLS = re.compile(r"\||\t")
_VALUED = re.compile(r":\s++\S")


class StripRefiner:
    """Decomposes by the three ways of the paper: sentences, windows of words, or the whole text (selection)."""

    def decompose(self, text: str, settings: Settings) -> list[Span]:
        """The strips of `text` as [start, end) offsets: in order, disjoint, each trimmed of outer white space.

        Every character that is no white space lies in exactly one strip; a blank text has none.
        """
        match settings.strips:
            case "sentences":
                return _by_sentences(text, settings.strip_sentences)
            case "windows":
                return _by_windows(text)
            case "selection":
                return _trim_spans(text, [(0, len(text))])


def filter_strips(strips: Sequence[Strip], rule: Rule) -> tuple[Strip, ...]:
    """The same strips in the same order with `kept` set, and why: see `crag.evaluation.strip_selection.choose`."""
    chosen = choose(Facts.of(strips), rule)
    return tuple(replace(strip, kept=place in chosen, why=chosen.get(place, "")) for place, strip in enumerate(strips))


def _by_sentences(text: str, group: int) -> list[Span]:
    """Groups of `group` sentences; each table row is a strip of its own."""
    found: list[Span] = []
    for (start, end), is_row in _blocks(text):
        if is_row:
            found.append((start, end))
            continue
        parts = [(start + first, start + last) for first, last in sentences(text[start:end])]
        parts = _join_fragments(text, _covering(text, parts, start, end))
        found += [(parts[i][0], parts[min(i + group, len(parts)) - 1][1]) for i in range(0, len(parts), group)]
    return _trim_spans(text, _attach_fragments(text, found))


def _blocks(text: str) -> list[tuple[Span, bool]]:
    """Runs of prose and single table rows, in order.

    A row is a line of at least three cells, or of two beside another such line; or a line of at least three
    "header value" parts apart by semicolons, which is how tables of a PDF are written out.
    """
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text) if match.group().strip()]
    cells = [len(_CELLS.findall(text[start:end].strip().strip("|"))) for start, end in lines]
    blocks: list[tuple[Span, bool]] = []
    for place, (start, end) in enumerate(lines):
        beside = max(cells[place - 1] if place else 0, cells[place + 1] if place + 1 < len(cells) else 0)
        is_row = cells[place] >= 2 or (cells[place] == 1 and beside >= 1) or is_table_row(text[start:end])
        if not is_row and blocks and not blocks[-1][1]:
            blocks[-1] = ((blocks[-1][0][0], end), False)
        else:
            blocks.append(((start, end), is_row))
    return blocks


def _covering(text: str, parts: list[Span], start: int, end: int) -> list[Span]:
    """The parts stretched so that no character of [start, end) but white space lies outside them."""
    if not parts:
        return [(start, end)]
    bounds = [start, *(first for first, _ in parts[1:]), end]
    return _trim_spans(text, list(pairwise(bounds)))


def _join_fragments(text: str, parts: list[Span]) -> list[Span]:
    """Fragments joined to a neighbour: one that ends like a sentence to the text before, a heading to what follows.

    A text that ends in a colon, as a label over its value, is joined to what follows, too.
    """
    found: list[Span] = []
    waiting: int | None = None
    labelled = False
    for start, end in parts:
        first = start if waiting is None else waiting
        size = count_words(text[first:end])
        value, labelled = labelled, text[end - 1] == ":" and size <= LABEL_WORDS
        waiting = first if labelled else None
        if labelled:
            continue
        if value or size > FRAGMENT_WORDS:
            found.append((first, end))
        elif found and ends_as_sentence(text[first:end]):
            found[-1] = (found[-1][0], end)
        else:
            waiting = first
    return _with_rest(found, waiting, parts[-1][1]) if parts else found


def _with_rest(found: list[Span], waiting: int | None, end: int) -> list[Span]:
    """The spans, and what still waits for a neighbour: it joins the last of them, or is one of its own."""
    if waiting is None:
        return found
    return [*found[:-1], (found[-1][0], end)] if found else [(waiting, end)]


def _attach_fragments(text: str, parts: list[Span]) -> list[Span]:
    """A prose fragment that stands alone among table rows joins the row after it (its title), or the one before.

    A label with its value is none.
    """
    found: list[Span] = []
    waiting: int | None = None
    for start, end in parts:
        first = start if waiting is None else waiting
        inside = text[start:end]
        is_fragment = count_words(inside) <= FRAGMENT_WORDS and not (_CELLS.search(inside) or _VALUED.search(inside))
        waiting = first if is_fragment else None
        if not is_fragment:
            found.append((first, end))
    return _with_rest(found, waiting, parts[-1][1]) if parts else found


def _by_windows(text: str) -> list[Span]:
    """Windows of 50 words; a tail under ten words joins the window before it."""
    spans = [match.span() for match in SPACED.finditer(text)]
    cuts = list(range(0, len(spans), WINDOW_WORDS))
    if len(cuts) > 1 and len(spans) - cuts[-1] < TAIL_WORDS:
        cuts.pop()
    ends = [*cuts[1:], len(spans)]
    return [(spans[first][0], spans[last - 1][1]) for first, last in zip(cuts, ends, strict=True)] if spans else []


def _trim_spans(text: str, spans: list[Span]) -> list[Span]:
    """The spans without outer white space, and without those that are nothing else."""
    found = []
    for start, end in spans:
        inside = text[start:end]
        bare = inside.strip()
        if bare:
            first = start + len(inside) - len(inside.lstrip())
            found.append((first, first + len(bare)))
    return found
