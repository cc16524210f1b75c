"""A page's words with their boxes, straight from PDFium: the only file that touches a PDF's characters.

Runs inside the reader's child process. Boxes are taken at a word's first and last character, not at each:
a page costs a few milliseconds instead of tens.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, pairwise
from typing import Any

import pypdfium2.raw as pdfium

from crag.ingest import objects
from crag.ingest.objects import Box, Space, around
from crag.ingest.raised import write_raised

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BULLETS = {code: "•" for code in (0xF0B7, 0xF0A7, 0xF0D8, 0xF0FC, 0xF076, 0xF06E, 0xF0A8, 0x2022)}
# Line-end hyphens come from PDFium as U+0002 or U+FFFE: kept as a soft hyphen for the layout to join or keep.
_HYPHENS = {0x02: "\u00ad", 0xFFFE: "\u00ad"}
_TABLE = {**_LIGATURES, **_BULLETS, **_HYPHENS}
_PIECE = re.compile(r"[^\s\x00\x02\ufffe]+[\x02\ufffe]?")
_TURNED = frozenset(f"{alef}\u0644" for alef in "\u0622\u0623\u0625\u0627")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_INNER_MARK = re.compile(r"(?<=.)\d(?=\D++$)")
"""A digit that may be raised or lowered within a word, as in "m2)." or "H2O"."""
_JUNK = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufeff\ufff0-\uffff]"
)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|-b(?![a-z])", re.IGNORECASE)
_LEADERS = frozenset(".,-_·…|=–—•")
"""Signs that are drawn in rows."""
_LATIN, _VOWEL = re.compile(r"[A-Za-z]{4,}"), re.compile("[aeiouyAEIOUY]")
_LEAST_SHOWN, _LEAST_WORDS = 30, 20  # characters and words of a page that may tell that it is garbled
_MOST_ASKED = 200  # characters that are asked for
_SIGNS = 0xBF  # the last character that is a sign or a control
_UNMAPPED, _LETTERED, _UNSPOKEN = 0.3, 0.5, 0.35  # shares: without a letter; of letters; of words without a vowel
_MOST_CHARS = 200_000  # of one page
_SMALL = 1.5  # points; a lower box is measured again
_TINY = 1.0  # points; what is lower nobody reads
_MOST_MEASURED = 50  # characters of a word that may be tiny
_OTHER_SIZE = 0.5  # points; characters whose boxes differ by more are of two sizes, or stand at two heights
_LIFT = 0.18  # of a line's height, from which a character counts as raised
_MARK_CHARS, _MARK_GAP = 4, 0.35  # a mark that is a word of its own, and how far of a line's height behind another
_PLACE = 2.0  # points; the same word twice within this is printed double
_NEW_LINE = 1.0  # points; words whose tops differ by more stand on two lines
_OFF_PAGE = 5.0  # points beyond the page's edge where a word still counts as on it


@dataclass(slots=True)
class Word:
    """Characters without white space and their box in displayed points, origin at the top left.

    `turn` counts quarter turns of the text, counter-clockwise as displayed; `first`, `last` are character indices.
    `confidence` 0..1: below 1 where recognition read it. `mirrored`: its box is on a page that is read from right to
    left.
    """

    text: str
    box: Box
    turn: int
    first: int
    last: int
    bold: bool = False
    confidence: float = 1.0
    mirrored: bool = False

    @property
    def key(self) -> tuple[str, int, int]:
        """Equal for two words that say the same in the same place."""
        return self.text, round(self.box.left / _PLACE), round(self.box.top / _PLACE)


@dataclass(slots=True)
class PageWords:
    """The words of one page in content order, its displayed size in points, and how much of it is pictures.

    `unseen` counts the words that are left out because nobody sees them. `recognised`: the words are recognition's,
    and what shows is a picture. `path_share`: how much of a page without words is drawn with lines. `mirrored`: it is
    read from right to left, and its boxes are as in a mirror. `garbled`: its fonts don't say which letters they show,
    so there are no words.
    """

    width: float
    height: float
    words: list[Word]
    image_share: float
    edges: list[dict[str, Any]]
    cut: bool = False
    failed: bool = False
    unseen: int = 0
    recognised: bool = False
    path_share: float = 0.0
    mirrored: bool = False
    garbled: bool = False


@dataclass(slots=True)
class Text:
    """A page's words before it is known which can be seen. `characters` has one character an index.

    `doubles` are words printed a second time in their place, `outside` those off the displayed page, `tiny` those
    under one point high; the last two are in `words` no more.
    """

    characters: str = ""
    words: list[Word] = field(default_factory=list)
    doubles: list[Word] = field(default_factory=list)
    outside: list[Word] = field(default_factory=list)
    tiny: list[Word] = field(default_factory=list)
    cut: bool = False


def _characters(textpage: Any, count: int) -> str:
    """One character an index: in one call where indices and characters agree, else one by one."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(textpage, 0, count, buffer)
    if written == count + 1:
        text = bytes(buffer).decode("utf-16-le", "surrogatepass")[:count]
        if len(text) == count:
            return text
    codes = (pdfium.FPDFText_GetUnicode(textpage, index) for index in range(count))
    return "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)


def read_words(textpage: Any, space: Space) -> Text:
    """The words of a PDFium text page, at most the first two hundred thousand characters of it."""
    count = max(0, pdfium.FPDFText_CountChars(textpage))
    read = Text(cut=count > _MOST_CHARS)
    count = min(count, _MOST_CHARS)
    if not count:
        return read
    text = read.characters = _characters(textpage, count)
    found = read.words
    seen: set[tuple[str, int, int]] = set()
    bounds = (ctypes.c_float * 4)()  # FS_RECTF: left, top, right, bottom
    reference = ctypes.addressof(bounds)
    handle = objects.address(textpage)
    loose, angle_of = objects.loose_box, objects.char_angle
    quarter = math.pi / 2
    low, most_right, most_down = -_OFF_PAGE, space.width + _OFF_PAGE, space.height + _OFF_PAGE
    previous = (0.0, 0.0)
    bold = False
    for match in _PIECE.finditer(text):
        raw = match.group()
        clean = raw if raw.isascii() and raw.isprintable() else clean_text(raw)
        if not clean:
            continue
        first, last = match.start(), match.end() - 1
        if raw[-1] in "\x02\ufffe" and last > first:
            last -= 1
        if not loose(handle, first, reference):
            continue
        left, top, right, bottom = bounds[:]
        mixed = False
        if last > first and loose(handle, last, reference):
            left1, top1, right1, bottom1 = bounds[:]
            mixed = abs(bottom - bottom1) > _OTHER_SIZE
            if not mixed and (inner := _INNER_MARK.search(raw)) and loose(handle, first + inner.start(), reference):
                mixed = abs(bottom - bounds[3]) > _OTHER_SIZE
            left, right = (left if left < left1 else left1), (right if right > right1 else right1)
            bottom, top = (bottom if bottom < bottom1 else bottom1), (top if top > top1 else top1)
        box = left, top, right, bottom = space.rect(left, bottom, right, top)
        if not math.isfinite(left + top + right + bottom):
            continue
        if not (low <= (left + right) / 2 <= most_right and low <= (top + bottom) / 2 <= most_down):
            read.outside.append(Word(clean, box, 0, first, last))
            continue
        turn = -(round(angle_of(handle, first) / quarter) + space.rotation) % 4  # PDFium counts clockwise
        word = Word(clean, box, turn, first, last, bold)
        key = clean, round(left / _PLACE), round(top / _PLACE)
        if key in seen:  # the same word printed twice in one place, for boldness or shadow
            read.doubles.append(word)
            continue
        if (right - left if turn % 2 else bottom - top) < _SMALL and _tiny(textpage, first, last):
            read.tiny.append(Word(clean, box, turn, first, last))
            continue
        seen.add(key)
        if abs(top - previous[0]) > _NEW_LINE or left < previous[1]:
            # Asked at a line's first and last word only: it is the slowest call of all.
            if bold and found:
                found[-1].bold = _is_bold(textpage, found[-1].last)
            word.bold = bold = _is_bold(textpage, first)
        previous = (top, right)
        found.append(word)
        if is_right_to_left(clean):
            boxes = [(text[at], word_box(textpage, at, at, space)) for at in range(first, last + 1)]
            word.text = clean_text(order_letters([(letter, each.left) for letter, each in boxes if each is not None]))
        elif turn or space.rotation:
            continue
        elif mixed:
            found[-1:] = _write_shifted(word, text, textpage, space)
        elif len(found) > 1:
            _read_marks(found, textpage)
    return read


def _write_shifted(word: Word, characters: str, textpage: Any, space: Space) -> list[Word]:
    """A word with raised characters as it is written in a line: a footnote's mark becomes a word of its own."""
    places = range(word.first, min(word.last, word.first + _MOST_MEASURED) + 1)
    placed = [box for place in places if (box := word_box(textpage, place, place, space)) is not None]
    if len(placed) < len(places):
        return [word]
    at_base = max(range(len(placed)), key=lambda at: (round(placed[at].height, 1), placed[at].bottom))
    base = placed[at_base]

    def is_raised(at: int) -> bool:
        return _is_raised(placed[at], base) and _lift(textpage, places[at], places[at_base]) > _LIFT * base.height

    runs = [(raised, list(each)) for raised, each in groupby(range(len(placed)), is_raised)]
    if len(runs) < 2:
        return [word]
    found = [replace(word, text="")]
    for raised, run in runs:
        first, last = places[run[0]], places[run[-1]]
        text = clean_text(characters[first : last + 1])
        text = write_raised(found[-1].text, text) if raised else text
        box = around([placed[at]._replace(top=base.top, bottom=base.bottom) for at in run])
        if text.startswith(" ") or (found[-1].text.endswith("]") and text[:1].isalnum()):
            found.append(replace(word, text=text.strip(), box=box, first=first, last=last))
        else:
            whole = box if not found[-1].text else around((found[-1].box, box))
            found[-1] = replace(found[-1], text=found[-1].text + text, box=whole, last=last)
    found[-1] = replace(found[-1], last=word.last)
    return found


def _read_marks(words: list[Word], textpage: Any) -> None:
    """Write a footnote's mark as one that is a word of its own: behind the word it marks, or before the note."""
    before, word = words[-2:]
    if before.turn or not (_is_raised(word.box, before.box) or _is_raised(before.box, word.box)):
        return
    lift = _lift(textpage, word.first, before.first)
    gap = word.box.left - before.box.right
    if len(word.text) <= _MARK_CHARS and lift > _LIFT * before.box.height:
        text = write_raised(before.text, word.text) if -_PLACE < gap < _MARK_GAP * before.box.height else ""
        if text.startswith(" "):
            box = word.box._replace(top=before.box.top, bottom=before.box.bottom)
            words[-1] = replace(word, text=text.strip(), box=box)
    elif len(before.text) <= _MARK_CHARS and -lift > _LIFT * word.box.height and -_PLACE < gap < word.box.height:
        begins = len(words) < 3 or words[-3].box.right > before.box.left or words[-3].box.bottom <= before.box.top
        if begins:
            box = before.box._replace(top=word.box.top, bottom=word.box.bottom)
            words[-2] = replace(before, text=write_raised("", before.text), box=box)


def _lift(textpage: Any, index: int, base: int) -> float:
    """How far a character stands above the line of another one, in points; lines may rise or fall a little.

    Boxes don't say so: on one line, letters of two fonts have two heights.
    """
    angle = objects.char_angle(objects.address(textpage), base)
    right, up = (
        after - before for after, before in zip(_origin(textpage, index), _origin(textpage, base), strict=True)
    )
    return float(up * math.cos(angle) + right * math.sin(angle))


def _origin(textpage: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(textpage, index, ctypes.byref(x), ctypes.byref(y))
    return x.value, y.value


def _is_raised(box: Box, base: Box) -> bool:
    """Whether characters stand higher than others on their line, and are set no larger."""
    lift = base.bottom - box.bottom
    return _LIFT * base.height < lift < base.height and box.height < base.height + _OTHER_SIZE


def is_garbled(textpage: Any, characters: str) -> bool:
    """Whether the fonts of a page don't say which letters their shapes stand for.

    They say so, or letters are few among its characters, or its words can't be spoken.
    """
    some = range(0, len(characters), max(1, len(characters) // _MOST_ASKED))
    shown = [place for place in some if not characters[place].isspace() and characters[place] not in _LEADERS]
    if len(shown) < _LEAST_SHOWN:
        return False
    if sum(pdfium.FPDFText_HasUnicodeMapError(textpage, place) == 1 for place in shown) > _UNMAPPED * len(shown):
        return True
    if sum(characters[place].isalnum() or ord(characters[place]) > _SIGNS for place in shown) < _LETTERED * len(shown):
        return True
    words = _LATIN.findall(characters)
    return len(words) >= _LEAST_WORDS and sum(not _VOWEL.search(word) for word in words) > _UNSPOKEN * len(words)


def clean_text(raw: str) -> str:
    """Characters as people read them: ligatures apart, one kind of bullet, nothing that has no shape."""
    return _JUNK.sub("", raw.translate(_TABLE))


def is_right_to_left(text: str) -> bool:
    """Whether a word has a letter of a script that is written from right to left."""
    return not text.isascii() and bool(_RIGHT_TO_LEFT.search(text))


def order_letters(letters: Sequence[tuple[str, float]]) -> str:
    """The letters of a word, each with its left edge on the page, as they are written.

    Some files hold them as they are seen, from left to right. Letters of one place, as of a ligature, keep their order.
    """
    shapes = [list(shape) for _, shape in groupby(letters, lambda letter: letter[1])]
    # PDFium turns round the two letters that one shape stands for, lam and alef.
    turned = (shape[::-1] if "".join(letter for letter, _ in shape) in _TURNED else shape for shape in shapes)
    letters = [*chain.from_iterable(turned)]
    steps = [after - left for (_, left), (_, after) in pairwise(letters)]
    if sum(step > 0 for step in steps) > sum(step < 0 for step in steps):
        letters = sorted(letters, key=lambda letter: -letter[1])
    return unicodedata.normalize("NFKC", "".join(letter for letter, _ in letters))


def word_box(textpage: Any, first: int, last: int, space: Space) -> Box | None:
    """The displayed box of the characters `first` to `last`, or None."""
    boxes = []
    for index in (first, last):
        box = pdfium.FS_RECTF()
        if pdfium.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(box)):
            boxes.append(space.rect(box.left, box.bottom, box.right, box.top))
    found = around(boxes) if boxes else None
    return found if found and math.isfinite(sum(found)) else None


def _tiny(textpage: Any, first: int, last: int) -> bool:
    """Whether the font is under one point as displayed, and no character of the word is a point high or wide."""
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFText_GetMatrix(textpage, first, ctypes.byref(matrix)):
        return False
    size = abs(pdfium.FPDFText_GetFontSize(textpage, first)) * math.hypot(matrix.c, matrix.d)
    if size >= _TINY:
        return False
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index in range(first, min(last, first + _MOST_MEASURED) + 1):
        if not pdfium.FPDFText_GetCharBox(textpage, index, left, right, bottom, top):
            continue
        if max(right.value - left.value, top.value - bottom.value) >= _TINY:
            return False
    return True


def _is_bold(textpage: Any, index: int) -> bool:
    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    written = pdfium.FPDFText_GetFontInfo(textpage, index, buffer, 128, ctypes.byref(flags))
    return bool(written and _BOLD.search(buffer.raw[:written].decode("latin-1")))
