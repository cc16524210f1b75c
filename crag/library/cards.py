"""What a document says of itself: its file name, title and first page, where company, product and year stand."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.types import Chunk, Document

__all__ = ["card"]

_CARD_CHARS = 2_000


def card(document: Document, chunks: Sequence[Chunk]) -> str:
    """The document's card: name and title on a line each, then the text of its first page that has any, cut off."""
    first = min((chunk.page for chunk in chunks), default=0)
    page = "\n".join(chunk.text for chunk in chunks if chunk.page == first)
    return f"{document.name}\n{document.title}\n{page[:_CARD_CHARS]}"
