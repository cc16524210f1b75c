"""A page's words as a person sees them: what nobody can see is left out, and counted.

Runs inside the reader's child process. Geometry says which text is in doubt, the drawn page says whether it shows.
Text from recognition, which nobody sees because it stands behind the picture of itself, is kept.
"""

from __future__ import annotations

import ctypes
import math
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pypdfium2.raw as pdfium

from crag.ingest import objects
from crag.ingest.drawn_proof import MARK, Proof
from crag.ingest.objects import Area, Box, Doubt, Drawn, Space, read_objects
from crag.ingest.words import PageWords, Text, Word, clean_text, is_garbled, read_words, word_box

_PICTURED = 0.5  # share of a page under pictures from which its text may be recognition's
_OTHER = 0.05  # share of a recognised page's characters that may show
_EDGE = 0.1  # of the page's height or width: stamps and page numbers stand there
_ALIKE = 24  # of 255: colours closer than this are hard to tell apart
_PALE = 225  # of 255: an area as light as paper hides light text too
_SCALES = (1.0, 3.0)  # pixels a point
_MOST_CHECKS = 200_000  # of a word and an area; on a page with more, every word is in doubt


@dataclass(slots=True)
class _Suspect:
    """Characters `first` to `last` of a word that stand in one text object, `thing`, and why they are in doubt."""

    word: Word
    first: int
    last: int
    box: Box
    thing: int
    doubt: Doubt
    seen: bool = True


def read_page(page: Any, proof: Proof) -> PageWords:
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
        _Judge(page, textpage, space, drawn, text, proof).judge(found)
    finally:
        pdfium.FPDFText_ClosePage(textpage)
    return found


class _Judge:
    """Decides for one page which words stay."""

    def __init__(self, page: Any, textpage: Any, space: Space, drawn: Drawn, text: Text, proof: Proof) -> None:
        self.page, self.textpage, self.space = page, textpage, space
        self.drawn, self.text, self.proof = drawn, text, proof
        self.handle = objects.address(textpage)

    def judge(self, found: PageWords) -> None:
        """Set the words, how many are left out, and whether they are recognition's."""
        text = self.text
        suspects = self._suspects([*text.words, *text.doubles]) if text.words else []
        if suspects and self._recognised(suspects):
            found.recognised = True
            found.words = _in_order(text.words, text.tiny)
            found.unseen = sum(map(_says, text.outside))
            return
        if suspects:
            self._prove(suspects)
        gone: list[Word] = [*text.outside, *text.tiny]
        lost = [suspect for suspect in suspects if not suspect.seen]
        if lost:
            found.words = self._without(lost, gone)
        shown = {word.key for word in found.words} if gone else set()
        found.unseen = sum(_says(word) and not _beside(word, shown) for word in gone)

    def _suspects(self, words: Sequence[Word]) -> list[_Suspect]:
        texts, things = self.drawn.texts, self._things(words)
        # Where letters are drawn one by one, only the first of each word is checked.
        checked = set(texts if len(texts) <= len(words) else things).difference(self.drawn.doubts, (0,))
        doubts: dict[int, Doubt] = {**self.drawn.doubts, **dict.fromkeys(_hiding(checked), "lost")}
        covered = self._by_areas(words, things) if self.drawn.areas else set()
        if not covered and not doubts:
            return []
        found: list[_Suspect] = []
        for place, (word, thing) in enumerate(zip(words, things, strict=True)):
            runs = self._runs(word, thing)
            for first, last, own in runs:
                doubt = doubts.get(own)
                if place in covered and doubt not in ("unpainted", "clip"):
                    doubt = "lost"
                if doubt is not None and not _symbol(word):
                    box = word_box(self.textpage, first, last, self.space) if len(runs) > 1 else None
                    found.append(_Suspect(word, first, last, box or word.box, own, doubt))
        return found

    def _things(self, words: Iterable[Word]) -> list[int]:
        """The text object that each word begins in; 0 for none."""
        firsts = [word.first for word in words]
        return [thing or 0 for thing in map(objects.text_object, repeat(self.handle), firsts)]

    def _runs(self, word: Word, thing: int) -> list[tuple[int, int, int]]:
        """The stretches of a word that stand in one object each: (first, last, object), the whole word most often."""
        of, handle = objects.text_object, self.handle
        runs = [(word.first, word.first, thing)]
        for index in range(word.first + 1, word.last + 1):
            first, _, before = runs[-1]
            own = of(handle, index) or before
            if own == before:
                runs[-1] = (first, index, own)
            else:
                runs.append((index, index, own))
        return runs

    def _by_areas(self, words: Sequence[Word], things: Sequence[int]) -> set[int]:
        """The places of words that an area drawn later covers, or that stand on a picture or on their own colour."""
        ranked = sorted((word.box.y, place) for place, word in enumerate(words))
        order = {thing: place for place, thing in enumerate(self.drawn.texts)}
        colours: dict[int, tuple[int, ...]] = {}
        found: set[int] = set()
        checks = 0
        for area in self.drawn.areas:
            left, top, right, bottom = area.box
            if area.before == 0 and area.colour is not None and min(area.colour) > _PALE:
                continue  # paper; light text is in doubt anyhow
            near = ranked[bisect_left(ranked, (top, 0)) : bisect_right(ranked, (bottom, len(words)))]
            checks += len(near)
            if checks > _MOST_CHECKS:
                return set(range(len(words)))
            for _, place in near:
                if not left <= words[place].box.x <= right:
                    continue
                thing = things[place]
                if order.get(thing, area.before) < area.before or area.colour is None:
                    found.add(place)
                    continue
                if thing not in colours:
                    colours[thing] = _colour(thing)
                if colours[thing] and _near(colours[thing], area.colour):
                    found.add(place)
        return found

    def _recognised(self, suspects: Sequence[_Suspect]) -> bool:
        """Whether the page is a picture, and its words stand behind it but for a stamp at its edge."""
        if self.drawn.image_share < _PICTURED:
            return False
        order = {thing: place for place, thing in enumerate(self.drawn.texts)}
        pictures = [area for area in self.drawn.areas if area.colour is None]
        behind = {
            id(suspect.word)
            for suspect in suspects
            if _unpainted(suspect.thing) or _covered(suspect.box, suspect.thing, pictures, order)
        }
        words = [*self.text.words, *self.text.doubles]
        total = sum(len(word.text) for word in words)
        shown = [word for word in words if id(word) not in behind]
        inner = sum(len(word.text) for word in shown if not self._at_edge(word))
        return inner <= _OTHER * total and 2 * sum(len(word.text) for word in shown) < total

    def _at_edge(self, word: Word) -> bool:
        x, y = word.box.x / self.space.width, word.box.y / self.space.height
        return not (_EDGE <= x <= 1 - _EDGE and _EDGE <= y <= 1 - _EDGE)

    def _prove(self, suspects: Sequence[_Suspect]) -> None:
        """Mark the suspects that leave no mark on the page as unseen; where it can't be drawn, those that can't."""
        left = list(suspects)
        for scale in _SCALES:  # small first: most pages are done then
            marks = self._marks(left, scale) if left else []
            if marks is None:
                for suspect in left:
                    suspect.seen = not self._surely_unseen(suspect)
                return
            left = [suspect for suspect, mark in zip(left, marks, strict=True) if not mark]
        shapes = {thing: self.proof.shape(self.page, thing) for thing in {suspect.thing for suspect in left}}
        others = set(self.drawn.texts).difference(suspect.thing for suspect in suspects)
        twins = self._twins(shapes, others) if left else set()
        undrawn = {thing for thing, shape in shapes.items() if not shape}.difference(_hiding(shapes))
        for suspect in left:
            bare = suspect.doubt not in ("unpainted", "clip") and suspect.thing in undrawn
            suspect.seen = bare or suspect.thing in twins

    def _twins(self, shapes: dict[int, bytes], others: Iterable[int]) -> set[int]:
        """The unseen text objects over which the same text is drawn so that it shows: PDFium lists it only once."""
        corners: dict[tuple[int, ...], list[int]] = {}
        for other in others:
            corners.setdefault(_corner(other), []).append(other)
        return {
            thing
            for thing, shape in shapes.items()
            if any(shape and self.proof.shape(self.page, other) == shape for other in corners.get(_corner(thing), ()))
        }

    def _marks(self, suspects: Sequence[_Suspect], scale: float) -> list[bool] | None:
        groups: dict[str, list[int]] = {}
        for suspect in suspects:
            groups.setdefault(suspect.doubt, []).append(suspect.thing)
        groups = {doubt: list(dict.fromkeys(things)) for doubt, things in groups.items()}
        boxes = [(suspect.doubt, suspect.box) for suspect in suspects]
        return self.proof.marks(self.page, self.space, self.drawn, groups, boxes, scale)

    def _surely_unseen(self, suspect: _Suspect) -> bool:
        """By geometry alone: unpainted, or faint, or light with nothing but paper beneath."""
        if suspect.doubt == "unpainted":
            return _unpainted(suspect.thing)
        colour = _colour(suspect.thing)
        if suspect.doubt != "pale" or not colour or objects.render_mode(suspect.thing) != 0:
            return False
        if colour[3] == 0:
            return True
        return min(colour[:3]) > 255 - MARK and not any(_touches(area.box, suspect.box) for area in self.drawn.areas)

    def _without(self, lost: Sequence[_Suspect], gone: list[Word]) -> list[Word]:
        """The words less what is lost of them, which is added to `gone`; a double stands in for its lost twin."""
        cut: dict[int, list[_Suspect]] = {}
        for suspect in lost:
            cut.setdefault(id(suspect.word), []).append(suspect)
        kept: list[Word] = []
        keys: set[tuple[str, int, int]] = set()
        for word in _in_order(self.text.words, self.text.doubles):
            runs = cut.get(id(word))
            rest = self._rest(word, runs) if runs else word
            if rest is not word:
                gone.append(word)
            if rest is not None and rest.key not in keys:
                keys.add(rest.key)
                kept.append(rest)
        return kept

    def _rest(self, word: Word, lost: Sequence[_Suspect]) -> Word | None:
        """A word without its lost characters, or None."""
        indices = [
            index
            for index in range(word.first, word.last + 1)
            if not any(suspect.first <= index <= suspect.last for suspect in lost)
        ]
        text = clean_text("".join(self.text.characters[index] for index in indices))
        box = word_box(self.textpage, indices[0], indices[-1], self.space) if text else None
        if box is None:
            return None
        return Word(text, box, word.turn, indices[0], indices[-1], word.bold)


def _beside(word: Word, keys: set[tuple[str, int, int]]) -> bool:
    """Whether the same word shows in the same place: this one is its shadow, not something hidden."""
    text, x, y = word.key
    return any((text, x + right, y + down) in keys for right in (-1, 0, 1) for down in (-1, 0, 1))


def _symbol(word: Word) -> bool:
    """Whether a word is a box to tick or the like: it often stands unseen where the sign itself is drawn."""
    return all(unicodedata.category(character) == "So" for character in word.text)


def _says(word: Word) -> bool:
    """Whether a word holds a letter or digit: an unseen dash or box is no news."""
    return any(map(str.isalnum, word.text))


def _in_order(words: Sequence[Word], more: Sequence[Word]) -> list[Word]:
    return sorted([*words, *more], key=lambda word: word.first) if more else list(words)


def _unpainted(thing: int) -> bool:
    mode: int = objects.render_mode(thing)
    return mode == int(pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)


def _covered(box: Box, thing: int, areas: Sequence[Area], order: dict[int, int]) -> bool:
    """Whether the middle of a box lies in an area that is drawn after the text."""
    x, y = box.x, box.y
    place = order.get(thing)
    return place is not None and any(
        place < area.before and area.box.left <= x <= area.box.right and area.box.top <= y <= area.box.bottom
        for area in areas
    )


def _corner(thing: int) -> tuple[int, ...]:
    """Where a text object lies, to the point."""
    bounds = (ctypes.c_float * 4)()
    start = ctypes.addressof(bounds)
    objects.object_bounds(thing, *(start + 4 * place for place in range(4)))
    return tuple(round(value) for value in bounds if math.isfinite(value))


def _touches(one: Box, other: Box) -> bool:
    across = one.left < other.right and other.left < one.right
    return across and one.top < other.bottom and other.top < one.bottom


def _colour(thing: int) -> tuple[int, ...]:
    """Red, green, blue and cover of a text object's fill, or nothing."""
    buffer = (ctypes.c_uint * 4)()
    start = ctypes.addressof(buffer)
    return tuple(buffer) if objects.fill_color(thing, *(start + 4 * place for place in range(4))) else ()


def _near(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(abs(a - b) < _ALIKE for a, b in zip(one, other, strict=False))


def _hiding(things: Iterable[int]) -> list[int]:
    """Those of the text objects that may be clipped, faded, masked, or in a layer that is switched off."""
    each = list(things)
    faded, marked = map(objects.has_transparency, each), map(objects.marks, each)
    clipped = map(objects.clip_paths, map(objects.clip_path, each))
    return [
        thing
        for thing, fades, marks, clips in zip(each, faded, marked, clipped, strict=True)
        # One mark with a number is a tag of the document's structure.
        if fades or clips > 0 or marks > 1 or (marks == 1 and objects.marked_content(thing) < 0)
    ]
