"""What a page draws, besides its words: ruled edges, pictures, filled areas, and the text that may not be seen."""

from __future__ import annotations

import ctypes
import math
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress, repeat
from typing import Any, Literal, NamedTuple

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
get_object = _bind(pdfium.FPDFPage_GetObject, _Address, _Address, _Int)
object_type = _bind(pdfium.FPDFPageObj_GetType, _Int, _Address)
object_bounds = _bind(pdfium.FPDFPageObj_GetBounds, _Int, _Address, _Address, _Address, _Address, _Address)
draw_mode = _bind(pdfium.FPDFPath_GetDrawMode, _Int, _Address, _Address, _Address)
text_object = _bind(pdfium.FPDFText_GetTextObject, _Address, _Address, _Int)
render_mode = _bind(pdfium.FPDFTextObj_GetTextRenderMode, _Int, _Address)
fill_color = _bind(pdfium.FPDFPageObj_GetFillColor, _Int, _Address, _Address, _Address, _Address, _Address)
form_objects = _bind(pdfium.FPDFFormObj_CountObjects, _Int, _Address)
form_object = _bind(pdfium.FPDFFormObj_GetObject, _Address, _Address, _Int)
clip_path = _bind(pdfium.FPDFPageObj_GetClipPath, _Address, _Address)
clip_paths = _bind(pdfium.FPDFClipPath_CountPaths, _Int, _Address)
has_transparency = _bind(pdfium.FPDFPageObj_HasTransparency, _Int, _Address)
marks = _bind(pdfium.FPDFPageObj_CountMarks, _Int, _Address)
marked_content = _bind(pdfium.FPDFPageObj_GetMarkedContentID, _Int, _Address)
set_active = _bind(pdfium.FPDFPageObj_SetIsActive, _Int, _Address, _Int)


_MOST_OBJECTS = 10_000
_MOST_DEPTH = 5
_WIDEST = 100_000.0  # points; a larger page is a broken number
_THIN = 3.0  # points; what is thinner is a line
_BACKGROUND = 300_000  # square points, six tenths of a letter page: a larger box frames no cell
_PALE = 235  # of 255: a lighter colour may be lost on white paper
_FAINT = 24  # of 255: less cover than this leaves hardly a mark
_SOLID = 250
_NO_TEXT = -1  # the render mode of what is no text
_LOW = 0 if sys.byteorder == "little" else 3  # where a colour's byte stands in its four

# Why text may not be seen: not painted (render mode 3), or a clip for what comes after (7); light, faint or outlined;
# drawn through a form, which may be clipped, faded or switched off; or clipped, faded, switched off, covered or as dark
# as its ground itself.
Doubt = Literal["unpainted", "clip", "pale", "form", "lost"]
_MODES: dict[int, Doubt] = {3: "unpainted", 7: "clip"}


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
        if self.rotation == 0:
            return Box(left - x0, y1 - top, right - x0, y1 - bottom)
        if self.rotation == 1:
            return Box(bottom - y0, left - x0, top - y0, right - x0)
        if self.rotation == 2:
            return Box(x1 - right, bottom - y0, x1 - left, top - y0)
        return Box(y1 - top, x1 - right, y1 - bottom, x1 - left)


@dataclass(slots=True)
class Area:
    """A filled path, picture or shading, as displayed. `before` is how many text objects are drawn before it.

    `colour` is red, green, blue; None for a picture or shading. `thing` is the object's address.
    """

    box: Box
    before: int
    colour: tuple[int, int, int] | None
    thing: int


@dataclass(slots=True)
class Drawn:
    """A page's objects. `texts` are addresses of text objects in order of drawing, those within forms included.

    `path_share`: how much of a page without text its paths take, which may be letters drawn as outlines.
    """

    image_share: float = 0.0
    path_share: float = 0.0
    edges: list[dict[str, Any]] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    doubts: dict[int, Doubt] = field(default_factory=dict)
    areas: list[Area] = field(default_factory=list)


def read_objects(page: Any, space: Space, text: bool) -> Drawn:
    """The objects of a loaded PDFium page: of those past the ten thousandth the text alone, without `text` pictures."""
    return _Reader(space, text).read(page)


class _Reader:
    """One pass over a page's objects, with the buffers that PDFium writes into."""

    def __init__(self, space: Space, text: bool) -> None:
        self.space, self.text = space, text
        self.drawn = Drawn()
        self.left = _MOST_OBJECTS
        self.outlined = 0.0
        self.bounds = (ctypes.c_float * 4)()
        self.colour = (ctypes.c_uint * 4)()
        self.modes = (ctypes.c_int * 2)()
        self.at_bounds, self.at_colour, self.at_modes = (
            [ctypes.addressof(buffer) + 4 * place for place in range(len(buffer))]
            for buffer in (self.bounds, self.colour, self.modes)
        )

    def read(self, page: Any) -> Drawn:
        drawn = self.drawn
        # One call after another over all objects: some pages draw each letter alone, and a loop's own steps would cost
        # as much as the calls.
        things = list(map(get_object, repeat(address(page)), range(pdfium.FPDFPage_CountObjects(page))))
        modes = list(map(render_mode, things))
        drawn.doubts.update(_doubted(things, modes))
        covered, start = 0.0, 0
        for _ in range(modes.count(_NO_TEXT)):
            index = modes.index(_NO_TEXT, start)
            drawn.texts += things[start:index]
            if things[index]:
                covered += self.other(things[index], object_type(things[index]), index < _MOST_OBJECTS)
            start = index + 1
        drawn.texts += things[start:]
        size = max(self.space.width * self.space.height, 1.0)
        drawn.image_share = min(1.0, covered / size)
        drawn.path_share = min(1.0, self.outlined / size)
        return drawn

    def other(self, thing: int, kind: int, near: bool) -> float:
        """Note what is no text, and answer how much of the page it takes as a picture, in square points."""
        if not near:
            return 0.0
        if not object_bounds(thing, *self.at_bounds):
            return 0.0
        box = self.space.rect(*self.bounds)
        if kind == pdfium.FPDF_PAGEOBJ_PATH and not self.text:
            self.outlined += self.shown(box)
            return 0.0
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            if box.right - box.left < _THIN or box.bottom - box.top < _THIN:
                self.drawn.edges.extend(_edges(box, False))
                return 0.0
            draw_mode(thing, *self.at_modes)
            self.drawn.edges.extend(_edges(box, bool(self.modes[1])))
            self.area(thing, box)
            return 0.0
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            if self.text:
                self.form(thing, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), 0)
        elif kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING):
            self.drawn.areas.append(Area(box, len(self.drawn.texts), None, thing))
        else:
            return 0.0
        return self.shown(box)

    def shown(self, box: Box) -> float:
        """How much of the box stands on the page, in square points."""
        width, height = self.space.width, self.space.height
        across, down = min(box.right, width) - max(box.left, 0), min(box.bottom, height) - max(box.top, 0)
        return max(0.0, across) * max(0.0, down)

    def area(self, thing: int, box: Box) -> None:
        """Note a path that covers what lies under it: filled, or drawn with a broad pen. `modes` hold its draw mode."""
        before = len(self.drawn.texts)
        if self.modes[0]:
            if fill_color(thing, *self.at_colour) and self.colour[3] >= _SOLID:
                red, green, blue = self.colour[0], self.colour[1], self.colour[2]
                self.drawn.areas.append(Area(box, before, (red, green, blue), thing))
        elif self.modes[1]:
            width = ctypes.c_float()
            pdfium.FPDFPageObj_GetStrokeWidth(_pointer(thing), ctypes.byref(width))
            if width.value >= _THIN:
                self.drawn.areas.append(Area(box, before, None, thing))

    def form(self, form: int, outer: tuple[float, ...], depth: int) -> None:
        """Note the text and areas within a form; their boxes go through its matrix."""
        own = pdfium.FS_MATRIX()
        if depth >= _MOST_DEPTH or not pdfium.FPDFPageObj_GetMatrix(_pointer(form), ctypes.byref(own)):
            return
        matrix = _times((own.a, own.b, own.c, own.d, own.e, own.f), outer)
        for index in range(form_objects(form)):
            thing = form_object(form, index)
            self.left -= 1
            if not thing or self.left < 0:
                continue
            kind = object_type(thing)
            if kind == pdfium.FPDF_PAGEOBJ_TEXT:
                self.drawn.texts.append(thing)
                self.drawn.doubts[thing] = _MODES.get(render_mode(thing), "form")
            elif kind == pdfium.FPDF_PAGEOBJ_FORM:
                self.form(thing, matrix, depth + 1)
            elif object_bounds(thing, *self.at_bounds):
                box = self.space.rect(*_move_box(self.bounds, matrix))
                if kind != pdfium.FPDF_PAGEOBJ_PATH:
                    self.drawn.areas.append(Area(box, len(self.drawn.texts), None, thing))
                elif min(box.width, box.height) >= _THIN:
                    draw_mode(thing, *self.at_modes)
                    self.area(thing, box)


def _doubted(things: Sequence[int], modes: Sequence[int]) -> dict[int, Doubt]:
    """The text objects whose mode or colour leaves them in doubt; `modes` are their render modes."""
    found: dict[int, Doubt] = {}
    if max(modes, default=0) > 0:
        found = {thing: _MODES.get(mode, "pale") for thing, mode in zip(things, modes, strict=True) if mode > 0}
    filled = list(compress(things, map((0).__eq__, modes)))
    colours = (ctypes.c_uint * (4 * len(filled)))()
    start = ctypes.addressof(colours)
    channels = (range(start + 4 * channel, start + 4 * channel + 16 * len(filled), 16) for channel in range(4))
    deque(map(fill_color, filled, *channels), maxlen=0)
    values = bytes(colours)
    red, green, cover = (values[4 * channel + _LOW :: 16] for channel in (0, 1, 3))
    if filled and (max(green) > _PALE or min(cover) < _FAINT):
        for thing, r, g, c in zip(filled, red, green, cover, strict=True):
            if (g > _PALE and r > _PALE) or c < _FAINT:
                found[thing] = "pale"
    return found


def _pointer(thing: int) -> Any:
    return ctypes.cast(thing, pdfium.FPDF_PAGEOBJECT)


def _times(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, ...]:
    """The matrix that applies `one`, then `other`."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _move_box(bounds: Any, matrix: tuple[float, ...]) -> Box:
    a, b, c, d, e, f = matrix
    corners = [(x * a + y * c + e, x * b + y * d + f) for x in (bounds[0], bounds[2]) for y in (bounds[1], bounds[3])]
    across, up = [x for x, _ in corners], [y for _, y in corners]
    if not all(map(math.isfinite, (*across, *up))):
        return Box(0.0, 0.0, 0.0, 0.0)
    return Box(min(across), min(up), max(across), max(up))


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
