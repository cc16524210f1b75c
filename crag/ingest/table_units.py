"""What a page says of its tables outside them: their units and titles."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from crag.core.tables import SEPARATOR
from crag.ingest.cells import Column
from crag.ingest.layout import Row
from crag.ingest.tables import LaidTable
from crag.ingest.units import unit_in

_NOTES = re.compile(r"\bnotes\s+to\b", re.IGNORECASE)
_STATEMENTS = re.compile(r"\bfinancial\s+statements\b", re.IGNORECASE)
_AFTER_NOTES = re.compile(
    r"^(?:item\s+\d|part\s+[iv]+\b|signatures?$|exhibits?\b|report\s+of\s+independent)", re.IGNORECASE
)
_FOOTNOTE = re.compile(r"^\s*(?:\((?:[a-z]|\d{1,2})\)|\*+)\s", re.IGNORECASE)  # it belongs to the table above
_MOST_TITLE, _MOST_TITLES = 120, 400  # characters of a line above a table that may be its title, and of all
_ROWS_ABOVE = 8  # rows above a table in which its unit may stand
_NOTES_WITHIN = 3  # rows below the notes' title
_HEADING = 40  # characters between two tables of one page, over which the second still goes on with the first
_LITTLE = 200  # characters between the tables of two pages, over which the second still goes on with the first


class Carried:
    """What is said of tables outside them, carried through a document in reading order, page by page.

    A table's unit is recognised by its own header, or by the lines above it, or by the table that it goes on with from
    the page before, or, in the notes to financial statements, by their title.
    """

    def __init__(self) -> None:
        self._above: deque[str] = deque(maxlen=_ROWS_ABOVE)
        self._between, self._turned = 0, False  # characters, and whether a page's end, since the last table
        self._last: LaidTable | None = None
        self._notes = ""
        self._since_notes = _NOTES_WITHIN

    def turn(self) -> None:
        """A new page begins."""
        self._turned = True

    @property
    def columns(self) -> Sequence[Column]:
        """Those of the table that ended the page before, if nothing came after it."""
        ended = self._last is not None and self._turned and self._between < _LITTLE
        return self._last.columns if self._last is not None and ended else ()

    def tell(self, items: Sequence[Row | LaidTable]) -> None:
        """Give each of the tables its unit and its title."""
        for item in items:
            if isinstance(item, Row):
                self._read(item.text)
                continue
            own = unit_in(item.captions) or unit_in(self._above)
            goes_on = self._last is not None and self._between < (_LITTLE if self._turned else _HEADING)
            item.unit = own or (self._last.unit if self._last is not None and goes_on else "") or self._notes
            item.title = SEPARATOR.join(text for text in self._above if len(text) <= _MOST_TITLE)[-_MOST_TITLES:]
            if goes_on and not item.title and self._last is not None:
                item.title = self._last.title
            self._last, self._between, self._turned = item, 0, False
            self._above.clear()

    def _read(self, text: str) -> None:
        self._above.append(text)
        self._between += 0 if _FOOTNOTE.match(text) else len(text)
        self._since_notes += 1
        if (notes := _NOTES.search(text)) and _STATEMENTS.search(text, notes.end()):
            self._since_notes = 0
        elif self._since_notes < _NOTES_WITHIN and (unit := unit_in([text])):
            self._notes = unit
        elif _AFTER_NOTES.match(text):
            self._notes, self._last = "", None
