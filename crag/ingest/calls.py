"""PDFium's calls that run once a character or object, bound for speed: plain integers in and out.

The published bindings build a pointer object on each call and let go of the interpreter lock; the reader's process
has one thread, and on a page of 6,000 drawing objects that is most of its time. Same functions, same library.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw as pdfium

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
