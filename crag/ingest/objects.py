"""What a page draws, besides its words: ruled edges, pictures, filled areas, and where its text comes among them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium


class Box(NamedTuple):
    """An upright rectangle in points as displayed, origin at the page's top left."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def x(self) -> float:
        """The middle between left and right."""
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        """The middle between top and bottom."""
        return (self.top + self.bottom) / 2

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def shared(self, other: Box) -> float:
        """The width that both cover; below 0: how far they stand apart."""
        return min(self.right, other.right) - max(self.left, other.left)

    def turned(self, turns: int, width: float, height: float) -> Box:
        """The box after `turns` quarter turns, clockwise, of a page of this width and height."""
        if turns % 4 == 1:
            return Box(height - self.bottom, self.left, height - self.top, self.right)
        if turns % 4 == 2:
            return Box(width - self.right, height - self.bottom, width - self.left, height - self.top)
        if turns % 4 == 3:
            return Box(self.top, width - self.right, self.bottom, width - self.left)
        return self


NOWHERE = Box(0.0, 0.0, 0.0, 0.0)
Matrix = tuple[float, ...]
"""The six numbers of a PDF's matrix."""


def around(boxes: Iterable[Box]) -> Box:
    """The least box that holds all of these, of which there must be one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


_Int, _Address, _Float = ctypes.c_int, ctypes.c_void_p, ctypes.c_float


def _bind(function: Any, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)(ctypes.cast(function, _Address).value or 0)


def address(pointer: Any) -> int:
    """The address that a pointer of the published bindings points to."""
    return ctypes.cast(pointer, _Address).value or 0


loose_box = _bind(pdfium.FPDFText_GetLooseCharBox, _Int, _Address, _Int, _Address)
char_angle = _bind(pdfium.FPDFText_GetCharAngle, _Float, _Address, _Int)
text_object = _bind(pdfium.FPDFText_GetTextObject, _Address, _Address, _Int)
object_bounds = _bind(pdfium.FPDFPageObj_GetBounds, _Int, _Address, _Address, _Address, _Address, _Address)
render_mode = _bind(pdfium.FPDFTextObj_GetTextRenderMode, _Int, _Address)
fill_color = _bind(pdfium.FPDFPageObj_GetFillColor, _Int, _Address, _Address, _Address, _Address, _Address)
stroke_color = _bind(pdfium.FPDFPageObj_GetStrokeColor, _Int, _Address, _Address, _Address, _Address, _Address)
_get_object = _bind(pdfium.FPDFPage_GetObject, _Address, _Address, _Int)
_object_type = _bind(pdfium.FPDFPageObj_GetType, _Int, _Address)
_draw_mode = _bind(pdfium.FPDFPath_GetDrawMode, _Int, _Address, _Address, _Address)
_form_objects = _bind(pdfium.FPDFFormObj_CountObjects, _Int, _Address)
_form_object = _bind(pdfium.FPDFFormObj_GetObject, _Address, _Address, _Int)
_matrix = _bind(pdfium.FPDFPageObj_GetMatrix, _Int, _Address, _Address)
_has_transparency = _bind(pdfium.FPDFPageObj_HasTransparency, _Int, _Address)
_count_segments = _bind(pdfium.FPDFPath_CountSegments, _Int, _Address)
_get_segment = _bind(pdfium.FPDFPath_GetPathSegment, _Address, _Address, _Int)
_get_clip = _bind(pdfium.FPDFPageObj_GetClipPath, _Address, _Address)
_count_clips = _bind(pdfium.FPDFClipPath_CountPaths, _Int, _Address)
_count_clip_segments = _bind(pdfium.FPDFClipPath_CountPathSegments, _Int, _Address, _Int)
_get_clip_segment = _bind(pdfium.FPDFClipPath_GetPathSegment, _Address, _Address, _Int, _Int)
_segment_type = _bind(pdfium.FPDFPathSegment_GetType, _Int, _Address)
_segment_point = _bind(pdfium.FPDFPathSegment_GetPoint, _Int, _Address, _Address, _Address)

_LONGEST = 20_000  # bytes of a string

_MOST_OBJECTS = 10_000
_MOST_DEPTH = 5
_MOST_SEGMENTS = 1_000  # of a path; one of more is known by its box alone
_MOST_CLIPS = 20  # of an object, one within the other
_MOST_READ = 100_000  # segments of all paths of a page
_WIDEST = 100_000.0  # points; a larger page is a broken number
_AS_IT_IS: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_ROUNDED = 0.1  # points that a matrix may move a corner by
_THIN = 3.0  # points; what is thinner is a line
_BACKGROUND = 300_000  # square points, six tenths of a letter page: a larger box frames no cell
_RECTANGLE = 5  # segments of a rectangle, the last of which closes it
_WHITE, _PAGE = (255, 255, 255), 0.6  # a white box is paper if it takes so much of the page
_SOLID = 250  # of 255: less cover than this lets something through


class Space:
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

    def rect(self, left: float, bottom: float, right: float, top: float) -> Box:
        """The box as displayed of a page-space rectangle in any corner order."""
        if left > right:
            left, right = right, left
        if bottom > top:
            bottom, top = top, bottom
        x0, y0, x1, y1 = self.box
        return Box(left - x0, y1 - top, right - x0, y1 - bottom).turned(self.rotation, x1 - x0, y1 - y0)


def read_string(call: Any, *arguments: Any, most: int = _LONGEST) -> str:
    """What a call of PDFium writes into a buffer as UTF-16; empty where it is nothing, or more than `most` bytes."""
    size = call(*arguments, None, 0)
    if not 2 < size <= most:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    call(*arguments, buffer, size)
    return bytes(buffer)[:-2].decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n").strip()


Ring = Sequence[tuple[float, float]]
"""The corners of one closed outline, as displayed."""


@dataclass(frozen=True, slots=True)
class Area:
    """A filled path, picture or shading, as displayed. `order`: its place among all that the page draws.

    `covers`: what lies under it shows no more. `colour` is red, green, blue of such a path; None for all else.
    `rings`: the outlines of a path that does not fill its box, as all lines of a table drawn at once do not.
    `winding`: PDF's nonzero winding rule says what is inside them, else the even-odd rule does.
    """

    box: Box
    order: int
    colour: tuple[int, int, int] | None = None
    covers: bool = True
    rings: Sequence[Ring] = ()
    winding: bool = True

    def holds(self, x: float, y: float) -> bool:
        """Whether this paints the point."""
        if not (self.box.left <= x <= self.box.right and self.box.top <= y <= self.box.bottom):
            return False
        if not self.rings:
            return True
        turns = crossings = 0
        for ring in self.rings:
            for (x0, y0), (x1, y1) in zip(ring, (*ring[1:], ring[0]), strict=True):
                if (y0 <= y) != (y1 <= y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
                    crossings += 1
                    turns += 1 if y1 > y0 else -1
        return turns != 0 if self.winding else crossings % 2 == 1


@dataclass(slots=True)
class Drawn:
    """What a page draws. `texts`: the address of each text object, and its place among all that is drawn.

    `image_share`, `path_share`: how much of the page pictures and paths take; `path_share` of one without text alone.
    """

    image_share: float = 0.0
    path_share: float = 0.0
    edges: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[int, int] = field(default_factory=dict)
    areas: list[Area] = field(default_factory=list)


def read_objects(page: Any, space: Space, text: bool) -> Drawn:
    """The objects of a loaded PDFium page: of those past the ten thousandth the text alone, without `text` pictures."""
    reader = _Reader(space, text)
    # One call after another over all objects: some pages draw each letter alone, and a loop's own steps would cost as
    # much as the calls.
    things = list(map(_get_object, repeat(address(page)), range(pdfium.FPDFPage_CountObjects(page))))
    kinds = list(map(_object_type, things))
    reader.drawn.texts = {thing: at for at, thing in enumerate(things) if kinds[at] == pdfium.FPDF_PAGEOBJ_TEXT}
    for at, kind in enumerate(kinds[:_MOST_OBJECTS]):
        if kind != pdfium.FPDF_PAGEOBJ_TEXT and things[at]:
            reader.order = at
            reader.read(things[at])
    size = max(space.width * space.height, 1.0)
    reader.drawn.image_share = min(1.0, reader.covered / size)
    reader.drawn.path_share = min(1.0, reader.outlined / size)
    return reader.drawn


class _Reader:
    """One pass over a page's objects, with the buffers that PDFium writes into."""

    def __init__(self, space: Space, text: bool) -> None:
        self.space, self.text = space, text
        self.drawn = Drawn()
        self.order = self.count = self.segments = 0
        self.covered = self.outlined = 0.0
        self.bounds = (ctypes.c_float * 4)()
        self.modes = (ctypes.c_int * 2)()
        self.own = (ctypes.c_float * 6)()
        start = ctypes.addressof(self.bounds)
        self.at_bounds = [start + 4 * place for place in range(4)]

    def read(self, thing: int, outer: Matrix | None = None, depth: int = 0) -> None:
        """Note an object. `outer`: the matrix of the form that it is in, whose place in the order all in it have."""
        kind, self.count = _object_type(thing), self.count + 1
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            self.drawn.texts[thing] = self.order
            return
        if not object_bounds(thing, *self.at_bounds):
            return
        box = self.space.rect(*(_move_box(self.bounds, outer) if outer else self.bounds))
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            self._path(thing, box, outer)
        elif kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING):
            self.covered += self._shown(box) if outer is None else 0.0
            self.drawn.areas.append(Area(self._clipped(thing, box, outer), self.order))
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MOST_DEPTH:
            self.covered += self._shown(box) if outer is None else 0.0
            if self.text and _matrix(thing, ctypes.addressof(self.own)):
                matrix = _times(tuple(self.own), outer) if outer else tuple(self.own)
                for index in range(min(_form_objects(thing), _MOST_OBJECTS)):
                    if self.count < 2 * _MOST_OBJECTS and (inner := _form_object(thing, index)):
                        self.read(inner, matrix, depth + 1)

    def _path(self, thing: int, box: Box, outer: Matrix | None) -> None:
        if not self.text:
            self.outlined += self._shown(box)
            return
        thin = box.width < _THIN or box.height < _THIN
        _draw_mode(thing, *(ctypes.addressof(self.modes) + 4 * place for place in range(2)))
        filled, stroked = bool(self.modes[0]), bool(self.modes[1])
        rings = [] if thin else self._rings(thing, outer)
        if outer is None:
            pieces = list(map(_around, rings)) if all(map(_is_level, rings)) else []
            for piece in pieces or [box]:
                self.drawn.edges.extend(_edges(piece, stroked or min(piece.width, piece.height) < _THIN))
        if not thin and filled:
            colour, cover = colour_of(thing)
            solid = cover >= _SOLID and not _has_transparency(thing)
            if colour == _WHITE and box.width * box.height < _PAGE * self.space.width * self.space.height:
                colour = None  # PDFium calls a pattern white, too: a page of paper is known by its size
            winding = self.modes[0] == pdfium.FPDF_FILLMODE_WINDING
            shown = self._clipped(thing, box, outer)
            self.drawn.areas.append(Area(shown, self.order, colour if solid else None, solid, rings, winding))

    def _rings(self, thing: int, outer: Matrix | None) -> Sequence[Ring]:
        """The outlines of a path, as displayed; none where it is a single rectangle, or too long to be read."""
        count = _count_segments(thing)
        if count <= _RECTANGLE or not _matrix(thing, ctypes.addressof(self.own)):
            return []
        matrix = _times(tuple(self.own), outer) if outer else tuple(self.own)
        return self._outlines(map(_get_segment, repeat(thing), range(count)), count, matrix)

    def _clipped(self, thing: int, box: Box, outer: Matrix | None) -> Box:
        """The part of an object's box that its clips leave, each taken as the box around it; may be empty."""
        clip = _get_clip(thing)
        for place in range(min(_count_clips(clip), _MOST_CLIPS) if clip else 0):
            count = _count_clip_segments(clip, place)
            segments = map(_get_clip_segment, repeat(clip), repeat(place), range(count))
            if rings := self._outlines(segments, count, outer or _AS_IT_IS):
                ring = around(map(_around, rings))
                left, top = max(box.left, ring.left), max(box.top, ring.top)
                box = Box(left, top, max(left, min(box.right, ring.right)), max(top, min(box.bottom, ring.bottom)))
        return box

    def _outlines(self, segments: Iterable[int | None], count: int, matrix: Matrix) -> Sequence[Ring]:
        """The outlines that so many segments draw; none where they are too many to be read."""
        if count > min(_MOST_SEGMENTS, _MOST_READ - self.segments):
            return []
        self.segments += count
        rings: list[list[tuple[float, float]]] = []
        for segment in segments:
            if not segment or not _segment_point(segment, *self.at_bounds[:2]):
                continue
            x, y = self.bounds[0], self.bounds[1]
            if _segment_type(segment) == pdfium.FPDF_SEGMENT_MOVETO or not rings:
                rings.append([])
            rings[-1].append(self.space.rect(*_move_box((x, y, x, y), matrix))[:2])
        return rings

    def _shown(self, box: Box) -> float:
        """How much of the box stands on the page, in square points."""
        width, height = self.space.width, self.space.height
        across, down = min(box.right, width) - max(box.left, 0), min(box.bottom, height) - max(box.top, 0)
        return max(0.0, across) * max(0.0, down)


def colour_of(thing: int, *, stroke: bool = False) -> tuple[tuple[int, int, int] | None, int]:
    """Red, green and blue of an object's fill or stroke, and its cover, 0..255; None for the colour of a pattern."""
    buffer = (ctypes.c_uint * 4)()
    start = ctypes.addressof(buffer)
    known = (stroke_color if stroke else fill_color)(thing, *(start + 4 * place for place in range(4)))
    return ((buffer[0], buffer[1], buffer[2]), buffer[3]) if known else (None, 255)


def _times(one: Matrix, other: Matrix) -> Matrix:
    """The matrix that applies `one`, then `other`."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _move_box(bounds: Any, matrix: Matrix) -> Box:
    a, b, c, d, e, f = matrix
    corners = [(x * a + y * c + e, x * b + y * d + f) for x in (bounds[0], bounds[2]) for y in (bounds[1], bounds[3])]
    return _around(corners) if all(map(math.isfinite, chain(*corners))) else NOWHERE


def _around(ring: Ring) -> Box:
    """The least box that holds all corners of an outline."""
    across, down = zip(*ring, strict=True)
    return Box(min(across), min(down), max(across), max(down))


def _is_level(ring: Ring) -> bool:
    """Whether an outline is a level or upright line, or a rectangle that stands upright."""
    sides = [min(abs(x1 - x0), abs(y1 - y0)) for (x0, y0), (x1, y1) in pairwise(ring)]
    return len(ring) <= _RECTANGLE and max(sides, default=0.0) < _ROUNDED


def _edges(box: Box, stroked: bool) -> list[dict[str, Any]]:
    """A thin path as one edge, a box as its four; those of a box that is only filled are marked as shading."""
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    if width < _THIN and height < _THIN:
        return []
    if height < _THIN:
        return [edge_of(left, box.y, right, box.y)]
    if width < _THIN:
        return [edge_of(box.x, top, box.x, bottom)]
    if width * height > _BACKGROUND:
        return []
    kind = "line" if stroked else "shade"
    corners = ((left, top, right, top), (left, bottom, right, bottom), (left, top, left, bottom))
    return [edge_of(*each, kind) for each in (*corners, (right, top, right, bottom))]


def edge_of(left: float, top: float, right: float, bottom: float, kind: str = "line") -> dict[str, Any]:
    """A level or upright edge, as pdfplumber's table finder takes it."""
    return {
        "orientation": "h" if top == bottom else "v",
        "x0": left,
        "x1": right,
        "top": top,
        "bottom": bottom,
        "width": right - left,
        "height": bottom - top,
        "object_type": kind,
    }
