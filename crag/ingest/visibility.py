"""A page's words as a person sees them: what is not painted, or as light as what lies beneath, is left out and counted.

What PDFium says of each text object decides: how it is painted, its colours, and what is drawn before and after it.
Text from recognition, which nobody sees because it stands behind the picture of itself, is kept.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pypdfium2.raw as pdfium

from crag.ingest import objects
from crag.ingest.objects import Area, Drawn, Space, read_objects
from crag.ingest.words import PageWords, Text, Word, clean_text, is_garbled, read_words, word_box

_PICTURED = 0.5  # share of a page under pictures from which its text may be recognition's
_BEHIND = 0.5  # share of such a page's letters that are not seen themselves, from which all are recognition's
_ALIKE = 24  # of 255: colours closer than this are hard to tell apart
_WHITE = 240  # of 255: what is as light as this is lost on paper
_FAINT = 24  # of 255: less cover than this leaves hardly a mark
_NO_FILL, _NO_PAINT = (1, 5), (3, 7)  # render modes: an outline alone; not painted, or a clip alone
Paint = tuple[tuple[int, int, int] | None, int]
"""The colour of a text, None where fill and outline differ or a pattern fills it; and how much it covers, 0..255."""
_MOST_CHECKS = 200_000  # of a word and an area, on one page


def read_page(page: Any) -> PageWords:
    """The words of a loaded PDFium page. Raises ValueError when its text can't be loaded."""
    space = Space(page)
    textpage = pdfium.FPDFText_LoadPage(page)
    if not textpage:
        raise ValueError("no text page")
    try:
        text = read_words(textpage, space)
        garbled = is_garbled(textpage, text.characters)
        if garbled:
            text.words, text.doubles = [], []
        drawn = read_objects(page, space, bool(text.words))
        found = PageWords(space.width, space.height, text.words, drawn.image_share, drawn.edges, text.cut)
        found.path_share, found.garbled = drawn.path_share, garbled
        _leave_out(found, textpage, space, drawn, text)
    finally:
        pdfium.FPDFText_ClosePage(textpage)
    return found


def _leave_out(found: PageWords, textpage: Any, space: Space, drawn: Drawn, text: Text) -> None:
    """Set the words that are seen, how many are not, and whether all are recognition's."""
    words = sorted([*text.words, *text.doubles], key=lambda word: word.first) if text.doubles else text.words
    handle = objects.address(textpage)
    things = [objects.text_object(handle, word.first) or 0 for word in words]
    # Where letters are drawn one by one, only the first of each word is looked at.
    looked = {*things, *drawn.texts} if len(drawn.texts) <= len(words) else set(things)
    paints = {thing: _read_paint(thing) for thing in looked if thing}
    unpainted = {thing for thing, (_, cover) in paints.items() if cover < _FAINT}
    if unpainted:
        unpainted -= _twins(unpainted, drawn.texts)
    lost = _lost_on_ground(words, things, drawn, paints)
    if not unpainted and not lost:
        hidden: list[Word] = []
    else:
        behind = lost | {place for place, thing in enumerate(things) if thing in unpainted}
        letters = sum(len(word.text) for word in words)
        if drawn.image_share >= _PICTURED and sum(len(words[at].text) for at in behind) > _BEHIND * letters:
            found.recognised = True
            found.words = sorted([*text.words, *text.tiny], key=lambda word: word.first)
            found.unseen = sum(map(_says, text.outside))
            return
        shown = [word for place, word in enumerate(words) if place not in lost]
        hidden = [words[place] for place in lost]
        found.words, more = _without(shown, unpainted, textpage, space, text) if unpainted else (_once(shown), [])
        hidden += more
    gone = [*hidden, *text.outside, *text.tiny]
    keys = {word.key for word in found.words} if gone else set()
    found.unseen = sum(_says(word) and not _beside(word, keys) for word in gone)


def _read_paint(thing: int) -> Paint:
    """How a text object is painted: not at all if it is a clip alone, or its render mode says so."""
    mode = objects.render_mode(thing)
    if mode in _NO_PAINT:
        return None, 0
    colour, cover = objects.colour_of(thing, stroke=mode in _NO_FILL)
    return colour if mode in (0, *_NO_FILL) else None, cover


def _twins(hidden: Iterable[int], texts: Iterable[int]) -> set[int]:
    """The hidden text objects in whose very place another is drawn that shows: PDFium lists the text once."""
    hidden = set(hidden)
    corners = {_corner(thing) for thing in texts if thing not in hidden}
    return {thing for thing in hidden if _corner(thing) in corners}


def _corner(thing: int) -> tuple[int, ...]:
    """Where a text object lies, to the point."""
    bounds = (ctypes.c_float * 4)()
    start = ctypes.addressof(bounds)
    objects.object_bounds(thing, *(start + 4 * place for place in range(4)))
    return tuple(round(value) if abs(value) < 1e6 else 0 for value in bounds)


def _lost_on_ground(
    words: Sequence[Word], things: Sequence[int], drawn: Drawn, paints: Mapping[int, Paint]
) -> set[int]:
    """The places of words that something drawn later covers, or whose colour is that of what they stand on."""
    ranked = sorted((word.box.y, place) for place, word in enumerate(words))
    grounds: dict[int, Area] = {}
    lost: set[int] = set()
    checks = 0
    for area in drawn.areas:
        above, below = (area.box.top, 0), (area.box.bottom, len(words))
        near = ranked[bisect_left(ranked, above) : bisect_right(ranked, below)]
        checks += len(near) * (1 + sum(map(len, area.rings)))
        if checks > _MOST_CHECKS:
            break
        for _, place in near:
            if not area.holds(words[place].box.x, words[place].box.y):
                continue
            order = drawn.texts.get(things[place])
            if order is None or area.order <= order:
                grounds[place] = area
            elif area.covers:
                lost.add(place)
    for place, thing in enumerate(things):
        colour, ground = paints[thing][0] if thing else None, grounds.get(place)
        if colour is None or place in lost:
            continue
        if ground is None:
            if min(colour) >= _WHITE:
                lost.add(place)
        elif ground.colour is not None and all(abs(a - b) < _ALIKE for a, b in zip(colour, ground.colour, strict=True)):
            lost.add(place)
    return {place for place in lost if not _is_symbol(words[place])}


def _without(
    words: Sequence[Word], unpainted: set[int], textpage: Any, space: Space, text: Text
) -> tuple[list[Word], list[Word]]:
    """The words without the characters that stand in these text objects; and those that lost some or all."""
    handle = objects.address(textpage)
    kept: list[Word] = []
    cut: list[Word] = []
    for word in words:
        places = range(word.first, word.last + 1)
        seen = [place for place in places if (objects.text_object(handle, place) or 0) not in unpainted]
        if len(seen) == len(places) or _is_symbol(word):
            kept.append(word)
            continue
        cut.append(word)
        rest = clean_text("".join(text.characters[place] for place in seen))
        box = word_box(textpage, seen[0], seen[-1], space) if rest else None
        if box is not None:
            kept.append(Word(rest, box, word.turn, seen[0], seen[-1], word.bold))
    return _once(kept), cut


def _once(words: Iterable[Word]) -> list[Word]:
    """The words, each of those that are printed twice in one place once."""
    return list({word.key: word for word in reversed(list(words))}.values())[::-1]


def _beside(word: Word, keys: set[tuple[str, int, int]]) -> bool:
    """Whether the same word shows in the same place: this one is its shadow, not something hidden."""
    text, x, y = word.key
    return any((text, x + right, y + down) in keys for right in (-1, 0, 1) for down in (-1, 0, 1))


def _is_symbol(word: Word) -> bool:
    """Whether a word is a box to tick or the like: it often stands unseen where the sign itself is drawn."""
    return all(not character.isalnum() and ord(character) > 0x2000 for character in word.text)


def _says(word: Word) -> bool:
    """Whether a word holds a letter or digit: an unseen dash or box is no news."""
    return any(map(str.isalnum, word.text))
