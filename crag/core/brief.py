"""What answers in few words: words of a source, or a result that was worked out from cells of tables. All frozen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from crag.core.documents import Rect


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortAnswer:
    """The few words that answer: the characters [start, end) of its source's text, inside what `citation` quotes.

    `text` is those characters on one line. Of a table's cell, `row` and `column` are its labels, and `scale` what the
    table counts in ("million"); else empty. `rects` are where it lies on the page. `confidence` 0..1.
    """

    text: str
    citation: int
    source_id: str
    strip_id: str
    start: int
    end: int
    confidence: float
    row: str = ""
    column: str = ""
    scale: str = ""
    rects: tuple[Rect, ...] = ()

    @property
    def value(self) -> str:
        """The text, an amount with what its table counts in: "163,220 million"."""
        return f"{self.text} {self.scale}".strip()

    @property
    def cell(self) -> str:
        """The row and column of a table's cell; empty for what is of no table."""
        return ", ".join(filter(None, (self.row.rstrip(" :"), self.column.rstrip(" :"))))

    @property
    def labelled(self) -> str:
        """The value with its cell before it: "Net sales, 2020: 163,220 million"."""
        return ": ".join(filter(None, (self.cell, self.value)))


CalculationKind = Literal[
    "change", "percent change", "annual growth", "average", "sum", "difference", "share", "ratio", "defined"
]
"""What an answer is worked out as; defined: as the question says itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """A result that was worked out from cells of tables.

    `cells` are what it rests on, each with its citation, and `values` what counts of each, "155" of "(155)".
    `formula` names them by their place: "(#2 − #1) ÷ #1". `result` is `value` as it is shown: rounded, with "%" or the
    scale of the amounts.
    """

    kind: CalculationKind
    cells: tuple[ShortAnswer, ...]
    values: tuple[str, ...]
    formula: str
    value: float
    result: str

    @property
    def written(self) -> str:
        """The formula with its values: "(1,234 − 1,000) ÷ 1,000"."""
        return re.sub(r"#(\d{1,2})", lambda place: self.values[int(place[1]) - 1], self.formula)

    @property
    def equation(self) -> str:
        """The same with what it comes to: "(1,234 − 1,000) ÷ 1,000 = 23.4%"."""
        return f"{self.written} = {self.result}"
