"""Whether text leaves a mark on its page: the page drawn with it and without it, and the two compared.

Runs inside the reader's child process, for the few pages that hold text in doubt. What draws a page knows all that
can hide text: its colour and what lies beneath, what covers it, clips, masks, layers that are switched off.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfBitmap

from crag.ingest import objects
from crag.ingest.objects import Box, Drawn, Space

_LEAST_SCALE = 0.5
_MOST_PIXELS = 4_000_000
_MOST_PICTURE = 60_000_000  # pixels of a page's pictures, decoded to draw it
_PER_PAGE = 0.05  # seconds more with each page
MARK = 16  # of 255: what differs less from its ground is not seen
_FLAGS = 0


class Proof:
    """Draws pages of `document` for a quarter of the reader's `seconds`, and for a while more with each page asked."""

    def __init__(self, document: Any, seconds: float) -> None:
        self.document = document
        self.left = seconds / 4

    def marks(
        self,
        page: Any,
        space: Space,
        drawn: Drawn,
        groups: Mapping[str, Sequence[int]],
        boxes: Sequence[tuple[str, Box]],
        scale: float,
    ) -> list[bool] | None:
        """For each box and the group of text objects that stands in it, whether they leave a mark there.

        Each group is drawn alone, without any other text of the page, so that no text hides behind another.
        The page is drawn at `scale` pixels a point, less if it is large. None when it can't be known: the page is too
        large to draw, or it takes too long.
        """
        scale = min(scale, (_MOST_PIXELS / max(1.0, space.width * space.height)) ** 0.5)
        size = (max(1, round(space.width * scale)), max(1, round(space.height * scale)))
        pictures = [area.thing for area in drawn.areas if area.colour is None]
        if scale < _LEAST_SCALE or self.left <= 0 or _pixels(pictures) > _MOST_PICTURE:
            return None
        self.left += _PER_PAGE
        began = time.process_time()
        try:
            return self._compare(page, size, scale, drawn.texts, groups, boxes, began + self.left)
        finally:
            self.left -= time.process_time() - began
            for text in drawn.texts:
                objects.set_active(text, 1)

    def _compare(
        self,
        page: Any,
        size: tuple[int, int],
        scale: float,
        texts: Sequence[int],
        groups: Mapping[str, Sequence[int]],
        boxes: Sequence[tuple[str, Box]],
        until: float,
    ) -> list[bool] | None:
        from PIL import ImageChops

        for text in texts:
            objects.set_active(text, 0)
        bare = _draw_page(page, size, until)
        differences = {}
        for group, members in groups.items():
            for text in members:
                objects.set_active(text, 1)
            full = _draw_page(page, size, until) if bare is not None else None
            if bare is None or full is None:
                return None
            differences[group] = ImageChops.difference(bare, full)
            for text in members:
                objects.set_active(text, 0)
        found = []
        for group, (left, top, right, bottom) in boxes:
            x0, y0 = max(0, int(left * scale)), max(0, int(top * scale))
            x1, y1 = min(size[0], int(right * scale) + 1), min(size[1], int(bottom * scale) + 1)
            if x0 >= x1 or y0 >= y1:
                found.append(False)
                continue
            # Letters that are a clip show as the edges of what is painted through them, which no text object draws.
            shown = bare if group == "clip" else differences[group]
            extrema: Any = shown.crop((x0, y0, x1, y1)).getextrema()
            red, green, blue = (most - least if group == "clip" else most for least, most in extrema)
            found.append(max(red, green, blue / 2) >= MARK)  # the eye makes little of blue
        return found

    def shape(self, page: Any, text: int) -> bytes:
        """The shape in which PDFium draws this text object alone, painted or not. Objects of one shape are one text.

        Empty if it can't be drawn, for want of a font.
        """
        pointer = ctypes.cast(text, pdfium.FPDF_PAGEOBJECT)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(pointer)
        pdfium.FPDFTextObj_SetTextRenderMode(pointer, pdfium.FPDF_TEXTRENDERMODE_FILL)
        bitmap = pdfium.FPDFTextObj_GetRenderedBitmap(self.document, page, pointer, ctypes.c_float(1.0))
        pdfium.FPDFTextObj_SetTextRenderMode(pointer, mode)
        if not bitmap:
            return b""
        drawn = PdfBitmap.from_raw(bitmap)
        cover = bytes(drawn.buffer)[3::4]
        return struct.pack(">I", drawn.stride) + cover if max(cover, default=0) > 8 else b""


def _pixels(things: Sequence[int]) -> int:
    """How many pixels the pictures among these objects hold."""
    total = 0
    width, height = ctypes.c_uint(), ctypes.c_uint()
    for thing in things:
        pointer = ctypes.cast(thing, pdfium.FPDF_PAGEOBJECT)
        if objects.object_type(thing) == pdfium.FPDF_PAGEOBJ_IMAGE and pdfium.FPDFImageObj_GetImagePixelSize(
            pointer, ctypes.byref(width), ctypes.byref(height)
        ):
            total += width.value * height.value
    return total


def _draw_page(page: Any, size: tuple[int, int], until: float) -> Any:
    """The page as a picture on white. None if PDFium can't draw it before that much processor time is used."""
    bitmap = PdfBitmap.new_native(*size, pdfium.FPDFBitmap_BGRx)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, *size)
    pause = pdfium.IFSDK_PAUSE(version=1)
    late = type(pause.NeedToPauseNow)(lambda _: time.process_time() > until)
    pause.NeedToPauseNow = late
    state = pdfium.FPDF_RenderPageBitmap_Start(bitmap, page, 0, 0, *size, 0, _FLAGS, ctypes.byref(pause))
    pdfium.FPDF_RenderPage_Close(page)
    return bitmap.to_pil().convert("RGB") if state == pdfium.FPDF_RENDER_DONE else None
