"""A page's words with their boxes, straight from PDFium: the only file that touches a PDF's characters.

Runs inside the reader's child process. Boxes are taken at a word's first and last character, not at each:
a page costs a few milliseconds instead of tens.
"""

from __future__ import annotations

import ctypes
import math
import re
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from crag.ingest import calls

__all__ = ["PageWords", "Word", "read_words"]

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BULLETS = {code: "•" for code in (0xF0B7, 0xF0A7, 0xF0D8, 0xF0FC, 0xF076, 0xF06E, 0xF0A8, 0x2022)}
# Line-end hyphens come from PDFium as U+0002 or U+FFFE: kept as a soft hyphen for the layout to join or keep.
_HYPHENS = {0x02: "\u00ad", 0xFFFE: "\u00ad"}
_TABLE = {**_LIGATURES, **_BULLETS, **_HYPHENS}
_PIECE = re.compile(r"[^\s\x00\x02\ufffe]+[\x02\ufffe]?")
_JUNK = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufeff\ufff0-\uffff]"
)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|-b(?![a-z])", re.IGNORECASE)
_MOST_CHARS = 200_000
_MOST_OBJECTS = 10_000
_WIDEST = 100_000.0  # points; a larger page is a broken number


@dataclass(slots=True)
class Word:
    """Characters without white space and their box in displayed points, origin at the top left.

    `turn` counts quarter turns of the text, counter-clockwise as displayed; `first`, `last` are character indices.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    turn: int
    first: int
    last: int
    bold: bool = False


@dataclass(slots=True)
class PageWords:
    """The words of one page in content order, its displayed size in points, and how much of it is pictures."""

    width: float
    height: float
    words: list[Word]
    image_share: float
    edges: list[dict[str, Any]]
    cut: bool = False
    failed: bool = False


class _Space:
    """The map from PDF page space to displayed points: crop box and page rotation taken into account."""

    def __init__(self, page: Any) -> None:
        box = pdfium.FS_RECTF()
        self.width = min(float(pdfium.FPDF_GetPageWidthF(page)), _WIDEST)
        self.height = min(float(pdfium.FPDF_GetPageHeightF(page)), _WIDEST)
        if pdfium.FPDF_GetPageBoundingBox(page, ctypes.byref(box)):
            self.box = (box.left, box.bottom, box.right, box.top)
        else:
            self.box = (0.0, 0.0, self.width, self.height)
        self.rotation = pdfium.FPDFPage_GetRotation(page) % 4

    def rect(self, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) as displayed, from a page-space rectangle in any corner order."""
        if left > right:
            left, right = right, left
        if bottom > top:
            bottom, top = top, bottom
        x0, y0, x1, y1 = self.box
        if self.rotation == 0:
            return left - x0, y1 - top, right - x0, y1 - bottom
        if self.rotation == 1:
            return bottom - y0, left - x0, top - y0, right - x0
        if self.rotation == 2:
            return x1 - right, bottom - y0, x1 - left, top - y0
        return y1 - top, x1 - right, y1 - bottom, x1 - left


def read_words(page: Any, *, edges: bool = True) -> PageWords:
    """The words of a loaded PDFium page. Raises ValueError when its text can't be loaded."""
    space = _Space(page)
    textpage = pdfium.FPDFText_LoadPage(page)
    if not textpage:
        raise ValueError("no text page")
    try:
        count = max(0, pdfium.FPDFText_CountChars(textpage))
        cut = count > _MOST_CHARS
        words = _words(textpage, min(count, _MOST_CHARS), space)
    finally:
        pdfium.FPDFText_ClosePage(textpage)
    share, found = _objects(page, space, bool(words) and edges)
    return PageWords(space.width, space.height, words, share, found, cut)


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


def _words(textpage: Any, count: int, space: _Space) -> list[Word]:
    if not count:
        return []
    text = _characters(textpage, count)
    found: list[Word] = []
    seen: set[tuple[str, int, int]] = set()
    box = pdfium.FS_RECTF()
    reference = ctypes.addressof(box)
    handle = calls.address(textpage)
    loose, angle_of = calls.loose_box, calls.char_angle
    quarter = math.pi / 2
    previous = (0.0, 0.0)
    bold = False
    for match in _PIECE.finditer(text):
        raw = match.group()
        clean = raw if raw.isascii() and raw.isprintable() else _JUNK.sub("", raw.translate(_TABLE))
        if not clean:
            continue
        first, last = match.start(), match.end() - 1
        if raw[-1] in "\x02\ufffe" and last > first:
            last -= 1
        if not loose(handle, first, reference):
            continue
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if last > first and loose(handle, last, reference):
            left, right = min(left, box.left), max(right, box.right)
            bottom, top = min(bottom, box.bottom), max(top, box.top)
        x0, y0, x1, y1 = space.rect(left, bottom, right, top)
        if not (math.isfinite(x0 + y0 + x1 + y1)) or not _visible(x0, y0, x1, y1, space):
            continue
        key = (clean, round(x0 / 2), round(y0 / 2))
        if key in seen:
            continue  # the same word printed twice in one place, for boldness or shadow
        seen.add(key)
        turn = -(round(angle_of(handle, first) / quarter) + space.rotation) % 4  # PDFium counts clockwise
        if abs(y0 - previous[0]) > 1 or x0 < previous[1]:
            # Asked at a line's first and last word only: it is the slowest call of all.
            if bold and found:
                found[-1].bold = _is_bold(textpage, found[-1].last)
            bold = _is_bold(textpage, first)
        previous = (y0, x1)
        found.append(Word(clean, x0, y0, x1, y1, turn, first, last, bold))
    return found


def _visible(x0: float, y0: float, x1: float, y1: float, space: _Space) -> bool:
    """Whether a word's middle lies on the displayed page, give or take a little."""
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return -5 <= x <= space.width + 5 and -5 <= y <= space.height + 5


def _is_bold(textpage: Any, index: int) -> bool:
    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    written = pdfium.FPDFText_GetFontInfo(textpage, index, buffer, 128, ctypes.byref(flags))
    return bool(written and _BOLD.search(buffer.raw[:written].decode("latin-1")))


def _objects(page: Any, space: _Space, edges: bool) -> tuple[float, list[dict[str, Any]]]:
    """The share of the page under pictures (0..1) and the ruled edges, at most a few thousand objects looked at."""
    bounds = (ctypes.c_float * 4)()
    start = ctypes.addressof(bounds)
    references = [start + 4 * place for place in range(4)]
    handle = calls.address(page)
    get, type_of = calls.get_object, calls.object_type
    area, found = 0.0, []
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        thing = get(handle, index)
        if not thing:
            continue
        kind = type_of(thing)
        if kind == pdfium.FPDF_PAGEOBJ_TEXT or (kind == pdfium.FPDF_PAGEOBJ_PATH and not edges):
            continue
        if not calls.object_bounds(thing, *references):
            continue
        x0, y0, x1, y1 = space.rect(bounds[0], bounds[1], bounds[2], bounds[3])
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            found.extend(_edges(x0, y0, x1, y1, thing))
        elif kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM, pdfium.FPDF_PAGEOBJ_SHADING):
            area += max(0.0, min(x1, space.width) - max(x0, 0)) * max(0.0, min(y1, space.height) - max(y0, 0))
    size = max(space.width * space.height, 1.0)
    return min(1.0, area / size), found


def _edges(x0: float, y0: float, x1: float, y1: float, path: Any) -> list[dict[str, Any]]:
    """A thin path as one edge, a box as its four; those of a box that is only filled are marked as shading."""
    width, height = x1 - x0, y1 - y0
    if width < 3 and height < 3:
        return []
    if height < 3:
        return [_edge("h", x0, (y0 + y1) / 2, x1, (y0 + y1) / 2)]
    if width < 3:
        return [_edge("v", (x0 + x1) / 2, y0, (x0 + x1) / 2, y1)]
    if width * height > 300_000:
        return []  # a page's background
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    calls.draw_mode(path, ctypes.addressof(fill), ctypes.addressof(stroke))
    kind = "line" if stroke.value else "shade"
    return [
        _edge("h", x0, y0, x1, y0, kind),
        _edge("h", x0, y1, x1, y1, kind),
        _edge("v", x0, y0, x0, y1, kind),
        _edge("v", x1, y0, x1, y1, kind),
    ]


def _edge(orientation: str, x0: float, top: float, x1: float, bottom: float, kind: str = "line") -> dict[str, Any]:
    return {
        "orientation": orientation,
        "x0": x0,
        "x1": x1,
        "top": top,
        "bottom": bottom,
        "width": x1 - x0,
        "height": bottom - top,
        "object_type": kind,
    }
