"""The rows of a table that a question names. Pure, in time that grows with the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.core.tables import Row
from crag.generation.line_items import plain_stems
from crag.text.words import STOP_WORDS, stem, words

_YEAR = re.compile(r"(?:19|20)\d\d")
_SHORT_FORM = re.compile(r"\([^()]{1,12}\)")
"""A name's short form behind it, which a question need not say: "Methane (CH4)"."""


def named_rows(question: str, text: str, rows: Sequence[Row]) -> list[Row]:
    """The rows with values whose whole label the question says, those with the longest labels; none where it says all.

    A row of years is among them, because it names the columns. `text` is what the rows' places count in.
    """
    asked = frozenset(map(stem, words(question[:2_000])))
    valued = [row for row in rows if row.cells]
    said = [_stems(text[row.start : row.label]) for row in valued]
    longest = max((len(label) for label in said if label <= asked), default=0)
    named = [
        row for row, label in zip(valued, said, strict=True) if longest and label <= asked and len(label) == longest
    ]
    return named if len(named) < len(valued) else []


def _stems(label: str) -> frozenset[str]:
    bare = _SHORT_FORM.sub(" ", label)
    return plain_stems(bare) or frozenset(stem(word) for word in words(bare) if word not in STOP_WORDS)
