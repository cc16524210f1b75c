"""A page as a PNG with highlighted rectangles, drawn in the reader's child process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from crag.core.config import AppConfig
from crag.core.errors import DamagedError, DocumentError, SettingsError
from crag.core.types import Rect
from crag.ingest.reader import detect_media
from crag.ingest.sandbox import run_child

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_WIDEST = 4000
_AT_ONCE = threading.BoundedSemaphore(4)
"""Pages that are drawn side by side, for all who look: each has a process of its own."""


def render_page(
    data: bytes,
    page: int,
    config: AppConfig,
    *,
    highlights: Sequence[Rect] = (),
    strong: Sequence[Rect] = (),
    width: int = 900,
) -> bytes:
    """A PNG `width` pixels wide (fewer for a very tall page) of page `page`, counted from 1; it holds its resolution.

    `strong` is marked over the highlights. Marks of other pages are left out. Raises the errors of `read_document`,
    DocumentError for a page that is not.
    """
    if not 16 <= width <= _WIDEST:
        raise SettingsError(f"An image is 16 to {_WIDEST} pixels wide, not {width}.")
    media = detect_media(data, "The document", config)
    if media not in ("pdf", "image"):
        raise DocumentError("This document has no pages to be drawn.", "Read its text instead.")
    boxes = [[r.left, r.top, r.right, r.bottom] for r in highlights if r.page == page]
    over = [[r.left, r.top, r.right, r.bottom] for r in strong if r.page == page]
    job = {"task": "render", "media": media, "page": page, "width": width, "highlights": boxes, "strong": over}
    image = b""
    with _AT_ONCE:
        for message, body in run_child(job, data, "The document", config):
            if message.get("image") == "png":
                image = body
    if not image.startswith(_SIGNATURE):
        raise DamagedError(f"Page {page} can't be drawn: the reader's answer made no sense.")
    return image
