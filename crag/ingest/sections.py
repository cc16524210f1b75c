"""Texts without pages, cut into parts of a few thousand characters: headings, paragraphs and tables in order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crag.ingest.compose import ComposedPage

PART = 3000
"""Characters at which a part ends with the next heading; at twice as many it ends with the next block."""
_MOST_HEADING = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, a paragraph, or a table, a row a line. `header` names a table's columns; None: it is no table.

    `unseen` words beside it were left out because nobody sees them.
    """

    text: str
    heading: bool = False
    header: str | None = None
    unseen: int = 0


def parts(blocks: Iterable[Block]) -> Iterator[ComposedPage]:
    """The blocks as pages without a size, whose places are their headings."""
    page = ComposedPage(1, 0.0, 0.0, by_heading=True)
    for block in blocks:
        page.unseen += block.unseen
        if not block.text.strip():
            continue
        if len(page.text) >= (PART if block.heading else 2 * PART):
            yield page
            page = ComposedPage(page.number + 1, 0.0, 0.0, by_heading=True)
        start = len(page.text) + 2 if page.text else 0
        page.text += ("\n\n" if page.text else "") + block.text
        if block.heading:
            page.headings.append((start, " ".join(block.text.split())[:_MOST_HEADING]))
        if block.header is not None:
            page.tables.append((start, len(page.text), block.header))
    if page.text or page.unseen:
        yield page
