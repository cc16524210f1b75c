"""PDFium's calls that run once a character or object, bound for speed: plain integers in and out.

The published bindings build a pointer object on each call and let go of the interpreter lock; the reader's process
has one thread, and on a page of 6,000 drawing objects that is most of its time. Same functions, same library.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw as pdfium

__all__ = ["address", "char_angle", "draw_mode", "get_object", "loose_box", "object_bounds", "object_type"]

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
