"""The cell of a table that a question asks for: its line item, period and segment, or the reason that there is none.

A form's field is one, where the question names it (`crag.generation.fields`). Of a table, a cell counts only where
every word of the question is met by its row, section, column, heading or document, and where the row and column name
nothing that the question does not. So a total is no sub-item, a segment is not the company, and an amount is no
percentage. Pure, in time that grows with the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from crag.core.tables import SEPARATOR, Cell, Row, Table
from crag.core.types import Chunk, LookupOutcome, RetrievedChunk, Strip, WebPage
from crag.evaluation.refinement import make_strip
from crag.generation.fields import Field, find_field, find_line
from crag.generation.line_items import GENERIC, item_tokens, plain_stems
from crag.generation.periods import Period, Span, is_same_period, periods_in, span_in
from crag.generation.wanted import Measure, Wanted, is_opening, measure_of, sizes_in, wanted_of, without_periods
from crag.text.dates import dates_in
from crag.text.numerals import SCALES, Number, numbers_in
from crag.text.words import stem, words

NEAR = 0.005
"""Values whose difference is a smaller share of them are one value, rounded."""
LEAST_AMOUNT = 100
"""A smaller whole number without a unit counts something else than a table's amounts."""

_SAYING = frozenset(map(stem, "specification specifications value values detail details description".split()))
"""Stems of a column's name that say of its cells that they are the rows' values."""
_VALUE = re.compile(r"\d|^\W*[-–—−]\W*$")
_SCALE = re.compile(
    r"\b(thousand|million|billion)s?\b|(?:\b000['’]?s\b|[$€£]\s?['’]?000\b)|[$€£]\s?(m|mn|bn)\b", re.IGNORECASE
)
_MONEY = r"(?:\b(?:us|nt|hk|a|c))?[$€£](?:\s?(?:['’]?000s?|mn?|bn|million|thousand))?(?!\w)"
_COUNTED = re.compile(
    rf"\(?\b(?:(?:us )?dollars |amounts )?in ?(?:[$€£] ?)?(?:thousand|million|billion)s\b\)?|{_MONEY}|\bnumber\b"
    r"|\(?\brestated\b\)?",
    re.IGNORECASE,
)
"""What a column's name says of how its amounts are counted, and that they were restated: no part of the item."""
_YEAR = re.compile(r"(?:19|20)\d\d")


_Fit = Literal["yes", "undated", "no"]
"""Whether a cell is of the period. undated: neither question nor row names one, the table stands under another date."""


@dataclass(frozen=True, slots=True)
class FoundCell:
    """A cell that is asked for: the characters [start, end) of the chunk's text, and those of its row.

    `unit` is what its table counts in, as it says. `steps`: how far it is from the question's own words, 0 the nearest.
    `key`: its row, column, section and period; the same in two tables that speak of one thing.
    """

    chunk: Chunk
    start: int
    end: int
    row_start: int
    row_end: int
    row: str
    column: str
    unit: str
    steps: int
    table: Table = field(repr=False)
    key: tuple[object, ...] = ()

    @property
    def text(self) -> str:
        return self.chunk.text[self.start : self.end]

    @property
    def scale(self) -> str:
        """What the table counts in, as one word; "" where it does not say."""
        names = (self.unit, self.column, *self.table.header[:1])
        match = next(filter(None, map(_SCALE.search, names)), None)
        said = (match[1] or match[2] or "thousand").lower() if match else ""
        return {"m": "million", "mn": "million", "bn": "billion"}.get(said, said)

    @property
    def value(self) -> str:
        """The text with what its table counts in: "$163,220 million"."""
        return f"{' '.join(self.text.split())} {self.scale}".strip()

    @property
    def row_strip(self) -> Strip:
        """Its row as a strip of its own, for a chunk whose strip with the row was not kept."""
        chunk = self.chunk
        return make_strip(chunk.id, chunk.text, "internal", self.row_start, self.row_end, None, kept=False)

    def in_strip(self, strip: Strip) -> bool:
        """Whether a strip has its row whole."""
        return strip.source_id == self.chunk.id and strip.start <= self.row_start and self.row_end <= strip.end

    @property
    def labelled(self) -> str:
        """The value with its row and column before it: "Net sales, 2020: $163,220 million"."""
        labels = (" ".join(label.split()) for label in (self.row, self.column))
        return f"{', '.join(filter(None, labels))}: {self.value}"


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a look-up ended. `cells`: the one that was found first, then those that agree; or one of each value.

    no item: no row means what is asked for. no period: a row does, and none of its columns is of the period.
    empty: the form's field that is asked for has no value; `cells` has its place.
    """

    outcome: LookupOutcome
    wanted: Wanted
    cells: tuple[FoundCell, ...] = ()
    against: int = 0

    @property
    def found(self) -> tuple[FoundCell, ...]:
        """The cell that was found, then those that agree with it; none where it ended otherwise."""
        return self.cells if self.outcome == "found" else ()

    @property
    def cell(self) -> FoundCell | None:
        return next(iter(self.found), None)

    @property
    def differing(self) -> tuple[FoundCell, ...]:
        """The cells with different values, each of another document, where all have one row, column and period."""
        if self.outcome != "several" or len({cell.chunk.document_id for cell in self.cells}) < len(self.cells):
            return ()
        return self.cells if len({cell.key for cell in self.cells}) == 1 else ()


def look_up(question: str, sources: Mapping[str, Chunk | WebPage]) -> Lookup | None:
    """What the tables and forms of the retrieved chunks say; None where the question is no look-up."""
    wanted = wanted_of(question)
    chunks = [source for source in sources.values() if isinstance(source, Chunk)]
    if field := find_field(question, chunks):
        return _read_field(field, wanted)
    if wanted is None:
        return _read_field(field, None) if (field := find_line(question, chunks)) else None
    documents = {
        id: _Document.of([chunk for chunk in chunks if chunk.document_id == id])
        for id in dict.fromkeys(chunk.document_id for chunk in chunks)
    }
    met = [each for chunk in chunks for each in _candidates(chunk, wanted, documents[chunk.document_id])]
    cells = [cell for cell, fits in met if fits == "yes" and not wanted.date]
    if not cells and (field := find_line(question, chunks)):
        return _read_field(field, wanted)
    cells = cells or [cell for cell, fits in met if fits == "undated" and not wanted.date]
    if not cells:
        return Lookup("no period" if met else "no item", wanted)
    best = min(cell.steps for cell in cells)
    nearest = [cell for cell in cells if cell.steps == best]
    against = sum(not _agree(cell, nearest[0]) for cell in cells)
    values: list[FoundCell] = []
    for cell in nearest:
        if not any(_agree(cell, other) for other in values):
            values.append(cell)
    if len(values) > 1:
        return Lookup("several", wanted, tuple(values), against)
    # Of those that agree, one whose table says what it counts in.
    first = next((cell for cell in nearest if cell.unit), nearest[0])
    others = tuple(cell for cell in cells if cell is not first and _agree(cell, first))
    return Lookup("found", wanted, (first, *others), against)


def has_cell(question: str, sources: Mapping[str, Chunk | WebPage]) -> bool:
    """Whether a table of the retrieved chunks has the cell that is asked for."""
    lookup = look_up(question, sources)
    return lookup is not None and bool(lookup.found)


def _read_field(found: Field, wanted: Wanted | None) -> Lookup:
    """A form's field as a cell. Where the question asks for no figure, it wants what the label says."""
    row, (start, end) = found.row, found.span
    read = FoundCell(
        found.chunk, start, end, row.start, row.end, found.label, found.under.rstrip(" :"), "", 0, found.table
    )
    tokens = frozenset(item_tokens(found.label))
    wanted = wanted or Wanted(tokens, plain_stems(found.label), "amount", None, firm=False, item=found.label)
    return Lookup("found" if start < end else "empty", wanted, (read,))


def contradicts_cell(text: str, cell: FoundCell) -> bool:
    """Whether a text gives amounts and none of them is the cell's, rounded or not, at a scale that it may be meant in.

    Dates, years and small counts are no amounts; a percentage is none beside an amount, and the reverse.
    """
    value, share = _amount(cell), "%" in cell.text
    if value is None:
        return False
    given = [
        number
        for number in numbers_in(text, [(day.start, day.end) for day in dates_in(text)])
        if number.values and (number.unit == "%") == (share and bool(number.unit))
    ]
    return any(map(_is_amount, given)) and not any(_gives(number, value, cell.scale) for number in given)


def reach_figure(question: str, found: Sequence[RetrievedChunk], k: int) -> list[RetrievedChunk]:
    """The first `k` chunks; the last place is for the one further down whose table has the cell that fits best.

    Of two cells with one value the one of the first chunks is taken.
    """
    near = list(found[:k])
    best = _looked_up(question, found) if len(found) > k else None
    if best is None or best.chunk.id in {each.chunk.id for each in near}:
        return near
    own = _looked_up(question, near)
    if own is None or not _agree(own, best):
        near[-1:] = [each for each in found[k:] if each.chunk.id == best.chunk.id]
    return near


def _looked_up(question: str, found: Sequence[RetrievedChunk]) -> FoundCell | None:
    lookup = look_up(question, {each.chunk.id: each.chunk for each in found})
    return lookup.cell if lookup else None


@dataclass(frozen=True, slots=True)
class _Document:
    """What is known of a document: the stems that name it, and its own period. `ends`: a quarterly report's date."""

    names: frozenset[str]
    squeezed: str
    period: Period | None
    ends: Period | None

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> _Document:
        first = chunks[0]
        named = f"{first.title} {first.source.rpartition('.')[0].replace('_', ' ')}"
        said = words(named)
        periods = periods_in(first.title) or periods_in(first.source.replace("_", " "))
        quarterly = bool(periods) and (span_in(named) == "quarter" or "10-q" in named.lower())
        initials = "".join(word[0] for word in re.findall(r"\b[A-Z][\w.]+", first.title.partition(",")[0])).lower()
        return cls(
            names=frozenset(map(stem, said)) | {initials},
            squeezed="".join(said),
            period=periods[0] if periods else None,
            ends=periods[0] if quarterly else None,
        )

    def names_token(self, token: str) -> bool:
        return token in self.names or (len(token) > 3 and token in self.squeezed)


def _candidates(chunk: Chunk, wanted: Wanted, document: _Document) -> Iterator[tuple[FoundCell, _Fit]]:
    """The cells whose row and column mean what is asked for, each with whether it is of the period."""
    open_ = frozenset(token for token in wanted.tokens if not document.names_token(token))
    if open_ and all(token in document.names for token in open_):
        return
    around = frozenset(item_tokens(chunk.context))
    for table in chunk.tables:
        for row in table.rows:
            if not row.cells:
                continue
            label = _label(chunk, row)
            said = _meant(label, document)
            section = frozenset(token for part in row.section.split(SEPARATOR) for token in _meant(part, document))
            rest = wanted.without(label)
            # A label that has a word which is not asked for is another item, and so is the period's other end.
            if (rest is None and not said <= wanted.tokens) or is_opening(label) != wanted.opening:
                continue
            values = [cell for cell in row.cells if _VALUE.search(chunk.text[cell.start : cell.end])]
            shares = "%" in table.name(row.cells[0]) or "%" in chunk.text[row.start : row.end]
            for cell in values:
                column = _meant(_COUNTED.sub(" ", table.name(cell)), document) - _SAYING
                if not column <= wanted.tokens or not (said or column or _is_total(label)):
                    continue
                if not said and not _is_of_table(label, column, wanted, table):
                    continue
                missing = (open_ if rest is None else open_ & rest) - said - column
                if missing - section - around:
                    continue
                measure = _cell_measure(chunk, table, row, cell)
                # "Refresh rate: 60 Hz" is no share, whatever the word says.
                rate = wanted.measure == measure_of(label) == "percent" and not shares
                if measure != wanted.measure and not rate:
                    continue
                steps = 2 * len(section - wanted.tokens - GENERIC) + (0 if said else 2) - (2 if rest is not None else 0)
                steps += 0 if plain_stems(label) - document.names <= wanted.plain else 2
                steps += len(sizes_in(label) - wanted.sizes)
                unit = table.unit if measure in ("amount", "change") else ""
                found = FoundCell(
                    chunk, cell.start, cell.end, row.start, row.end, label, table.name(cell), unit, steps, table
                )
                shown = _shown_periods(found, row)
                alone = len(values) == 1
                fit: _Fit = "no"
                if _fits_period(shown, wanted.period, document, alone=alone):
                    fit = "yes"
                elif alone and wanted.period is None and not any(map(periods_in, _own_names(found, row))):
                    fit = "undated"
                names = (_key(without_periods(name)) for name in (label, table.name(cell), row.section))
                # A question that names a period is met by cells of that one alone, however each table writes it.
                key = (*names, *(shown if wanted.period is None else ()))
                yield replace(found, key=key, steps=steps if shown else steps + 1), fit


def _is_of_table(label: str, column: frozenset[str], wanted: Wanted, table: Table) -> bool:
    """Whether a row that names no item is the one asked for: a total where that is; a period's where one is; or the
    only row.
    """
    if not _is_total(label):
        return wanted.period is not None or sum(bool(row.cells) for row in table.rows) == 1
    return bool(column) or wanted.total


def _meant(text: str, document: _Document) -> frozenset[str]:
    """The tokens of a label, section or column that name something: no period, no word that all have."""
    bare = without_periods(text)
    return frozenset(
        token for token in item_tokens(bare) if token not in GENERIC | {"%"} and token not in document.names
    )


def _label(chunk: Chunk, row: Row) -> str:
    return " ".join(chunk.text[row.start : row.label].split()).strip(" :")


def _is_total(label: str) -> bool:
    return label.casefold().strip(" :") in {"total", "totals", "consolidated total", "consolidated"}


def _key(text: str) -> str:
    return " ".join(words(text))


def _cell_measure(chunk: Chunk, table: Table, row: Row, cell: Cell) -> Measure:
    """What a cell's value is: what its column or its own row names, or a percentage by its sign."""
    name, label = table.name(cell), _label(chunk, row)
    named = measure_of(f"{name} | {label}")
    value = chunk.text[cell.start : cell.end]
    if named in ("change", "per share"):
        return named
    if "%" in value:
        return "percent"
    if re.search(r"per (?:common )?share", row.section, re.IGNORECASE):
        return "per share"
    return "percent" if "%" in name or re.search(r"%|per ?cent", label, re.IGNORECASE) else "amount"


def _own_names(found: FoundCell, row: Row) -> list[str]:
    """What names a cell, the nearest first: its column, its row, its sections."""
    return [found.column.rstrip(" %"), found.row, *reversed(row.section.split(SEPARATOR))]


def _shown_periods(found: FoundCell, row: Row) -> tuple[Period, ...]:
    """The periods of a cell: of its column, else its label or its section."""
    texts = _own_names(found, row)
    span: Span = next(filter(None, map(span_in, texts)), "")
    shown = next(filter(None, map(periods_in, texts)), ())
    return tuple(replace(each, span=each.span or span) for each in shown)


def _fits_period(shown: Sequence[Period], asked: Period | None, document: _Document, *, alone: bool) -> bool:
    """Whether a cell is of the period; one that shows none is of its document's if its row has no other value."""
    if not shown:
        if asked is None:
            return alone
        return alone and document.period is not None and is_same_period(asked, document.period)
    if len(shown) > 1:
        return False
    if asked is None:
        own = document.period
        return own is None or is_same_period(Period(own.year), shown[0])
    return is_same_period(asked, shown[0], ends=document.ends)


def _agree(one: FoundCell, other: FoundCell) -> bool:
    """Whether two cells give one value, counted in what their tables say, or in any where one does not say."""
    left, right = _amount(one), _amount(other)
    if left is None or right is None:
        return one.text.strip() == other.text.strip()
    if one.scale and other.scale:
        return _near(left * SCALES[one.scale], right * SCALES[other.scale])
    return any(_near(left, right * scale) for scale in (1.0, 1e3, 1e6, 1e-3, 1e-6))


def _amount(cell: FoundCell) -> float | None:
    number = next((each for each in numbers_in(cell.text) if each.values), None)
    return None if number is None else number.values[0]


def _is_amount(number: Number) -> bool:
    if number.unit or number.scaled or number.steps[0] < 1:
        return True
    return number.kind == "digits" and number.values[0] >= LEAST_AMOUNT and not _YEAR.fullmatch(number.text)


def _gives(number: Number, value: float, scale: str) -> bool:
    """Whether a number of a text is a cell's value, as it is shown or as what its table counts in; or rounded."""
    own = (SCALES[scale],) if scale else (1e3, 1e6, 1e9)
    scales = own if number.scaled and scale else (1.0, *own)
    rounded = bool(number.unit) or number.scaled or number.steps[0] < 1
    return any(
        _near(said, value * each) or (rounded and abs(said - value * each) <= step / 2)
        for said, step in zip(number.values, number.steps, strict=False)
        for each in scales
    )


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * max(abs(one), abs(other))
