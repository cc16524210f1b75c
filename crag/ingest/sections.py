"""Texts without pages, cut into parts of a few thousand characters: headings, paragraphs and tables in order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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
    for block in _short(blocks):
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


def _short(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks; a paragraph longer than a part in pieces, cut where there is white space."""
    for block in blocks:
        text = block.text
        while len(text) > 2 * PART and block.header is None:
            cut = max(text.rfind("\n", PART, 2 * PART), text.rfind(" ", PART, 2 * PART))
            cut = cut if cut > 0 else 2 * PART
            yield Block(text=text[:cut])
            text = text[cut:].lstrip()
        yield block if text is block.text else replace(block, text=text, heading=False)
