"""PDFium's calls that run once a character or object, bound for speed: plain integers in and out.

The published bindings build a pointer object on each call and let go of the interpreter lock; the reader's process
has one thread, and on a page of 6,000 drawing objects that is most of its time. Same functions, same library.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw as pdfium

_Int, _Address, _Float = ctypes.c_int, ctypes.c_void_p, ctypes.c_float


def _bound(function: Any, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)(ctypes.cast(function, _Address).value or 0)


def address(pointer: Any) -> int:
    """The address that a pointer of the published bindings points to."""
    return ctypes.cast(pointer, _Address).value or 0


loose_box = _bound(pdfium.FPDFText_GetLooseCharBox, _Int, _Address, _Int, _Address)
char_angle = _bound(pdfium.FPDFText_GetCharAngle, _Float, _Address, _Int)
get_object = _bound(pdfium.FPDFPage_GetObject, _Address, _Address, _Int)
object_type = _bound(pdfium.FPDFPageObj_GetType, _Int, _Address)
object_bounds = _bound(pdfium.FPDFPageObj_GetBounds, _Int, _Address, _Address, _Address, _Address, _Address)
draw_mode = _bound(pdfium.FPDFPath_GetDrawMode, _Int, _Address, _Address, _Address)
text_object = _bound(pdfium.FPDFText_GetTextObject, _Address, _Address, _Int)
render_mode = _bound(pdfium.FPDFTextObj_GetTextRenderMode, _Int, _Address)
fill_color = _bound(pdfium.FPDFPageObj_GetFillColor, _Int, _Address, _Address, _Address, _Address, _Address)
form_objects = _bound(pdfium.FPDFFormObj_CountObjects, _Int, _Address)
form_object = _bound(pdfium.FPDFFormObj_GetObject, _Address, _Address, _Int)
clip_path = _bound(pdfium.FPDFPageObj_GetClipPath, _Address, _Address)
clip_paths = _bound(pdfium.FPDFClipPath_CountPaths, _Int, _Address)
has_transparency = _bound(pdfium.FPDFPageObj_HasTransparency, _Int, _Address)
marks = _bound(pdfium.FPDFPageObj_CountMarks, _Int, _Address)
marked_content = _bound(pdfium.FPDFPageObj_GetMarkedContentID, _Int, _Address)
set_active = _bound(pdfium.FPDFPageObj_SetIsActive, _Int, _Address, _Int)
