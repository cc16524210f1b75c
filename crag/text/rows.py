"""Rows of tables as lines of text: "label: header value; header value; …", which is how a table is written out."""

from __future__ import annotations

import re

__all__ = ["is_table_row"]

_ENDS_LIKE_PROSE = re.compile(r"[.!?;:,]\s*$")
_TWO_SENTENCES = re.compile(r"[.!?]\s+[A-Z\d]")
_ENDS_IN_A_FIGURE = re.compile(r"[\d%)—–-]\W*$")


def is_table_row(line: str) -> bool:
    """Whether a line is a table's row: three parts or more, apart by semicolons, and no running text.

    Where a stop stands inside it, as in "Oper. Income $627", at least half of its parts must end in a figure.
    """
    if line.count("; ") < 2 or _ENDS_LIKE_PROSE.search(line, max(0, len(line) - 8)):
        return False
    if not _TWO_SENTENCES.search(line):
        return True
    parts = line.split("; ")
    return 2 * sum(_ENDS_IN_A_FIGURE.search(part, max(0, len(part) - 8)) is not None for part in parts) >= len(parts)
