"""Documents, their pages and the words and tables on them; the short answer found in one. All frozen."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from crag.core.errors import NotFoundError
from crag.core.tables import Table
from crag.text.numerals import is_amount, without_spans

INDEXED_AS = "headings-cellless-1"
"""Names what `Chunk.indexed_text` makes of a chunk: vectors of texts made another way never mix."""

LOW_RECOGNITION = 0.9
"""Text that recognition is less sure of is said to be of low confidence: benchmarks/results/recognition.md."""

# fmt: off
Media = Literal[
    "pdf", "html", "markdown", "text", "docx", "pptx", "xlsx", "csv", "image",
    "email", "rtf", "epub", "odt", "ods", "odp",
]
# fmt: on
"""What a document's bytes are."""

Look = Literal["", "changed", "duplicate", "gone", "refused", "unreachable", "unreadable"]
"""What the last look at a document's web address found, where the document does not say it.

Empty: the page is as in the library. "changed": it says something else. "duplicate": what another document here says.
"gone": the server says that there is none any more. "refused": only those who sign in see it. "unreachable": it did not
come, for another reason. "unreadable": it came and can't be read.
"""


FromWeb = Literal["", "unverified", "verified"]
"""Of a web page that an answer used and a person kept as a document: whether a person has said that it is right. Empty:
of any other document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rect:
    """A rectangle on a page: points, origin at the top left of the page as displayed; `page` from 1."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBox:
    """Where the characters [start, end) of a text lie on the page.

    `confidence` 0..1: how sure recognition is to have read them right; 1 where the file says them itself.
    """

    start: int
    end: int
    rect: Rect
    confidence: float = 1.0

    def within(self, start: int, end: int) -> LineBox | None:
        """What of it lies in [start, end), its box cut in proportion; None where nothing does."""
        first, last, size = max(start, self.start), min(end, self.end), self.end - self.start
        if first >= last:
            return None
        if last - first == size:
            return self
        left, width = self.rect.left, self.rect.right - self.rect.left
        at, to = (left + width * (place - self.start) / size for place in (first, last))
        return replace(self, start=first, end=last, rect=replace(self.rect, left=at, right=to))


def mean_confidence(lines: Iterable[LineBox]) -> float | None:
    """How sure recognition is of the lines that it read, 0..1, by their length; None where it read none of them."""
    read = [(line.end - line.start, line.confidence) for line in lines if line.confidence < 1]
    total = sum(size for size, _ in read)
    return sum(size * sure for size, sure in read) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of the library. Its identity is its content: `id` is the SHA-256 of its bytes, in hex.

    `kind` is what its bytes are, and `properties` what they say of themselves, as (name, value): author, created,
    modified (ISO 8601), title and others. `url`: the web address that it came from. `path`: the file on this machine
    that it was read from, where that is known, and `modified` when that file was changed last before (nanoseconds since
    the epoch).

    Of one from the web: when it was `published`, as exact as the page says (ISO 8601); when these words were had last
    (`fetched_at`) and its address looked at last (`looked_at`; both ISO 8601, UTC), and what that `look` found; `etag`
    and `last_modified`, by which its server tells whether it changed; `text_id`, the SHA-256 of its text; and the ids
    of the documents in whose place it came, the latest first (`earlier`).
    """

    id: str
    name: str
    title: str
    size: int
    pages: int
    chunks: int
    added_at: str
    model: str
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    url: str | None = None
    confidence: float = 1.0
    path: str = ""
    modified: int = 0
    kind: Media = "pdf"
    properties: tuple[tuple[str, str], ...] = ()
    published: str = ""
    fetched_at: str = ""
    looked_at: str = ""
    look: Look = ""
    etag: str = ""
    last_modified: str = ""
    text_id: str = ""
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The retrieved unit: a span of one page of one document.

    `text` equals the page's text at [start, end). `page` counts from 1; `place` is what a citation says of it where it
    is no printed page, as "slide 3". `context` is what is indexed with the text though it stands elsewhere in the
    document: title, section heading, table header. `lines` and `tables` hold offsets into `text`; `tables` have
    the rows that lie whole in it, under their table's whole header. `id` is stable for the same document and chunking.

    `elsewhere`: it is of another store than the library, as a run says of what a given retriever found. Nobody here can
    open its document, and `document_id` only tells that from others there. Its `page` is 0 where that is not known.

    A search also says what `url` its document came from, if from the web, and what was known then of a page that was
    kept (`from_web`), and the document's date (`dated`, ISO 8601 as exact as it is known; empty where it has none).
    """

    id: str
    document_id: str
    source: str
    title: str
    page: int
    ordinal: int
    start: int
    end: int
    text: str
    context: str = ""
    kind: Literal["text", "table"] = "text"
    lines: tuple[LineBox, ...] = ()
    tables: tuple[Table, ...] = ()
    place: str = ""
    url: str = ""
    from_web: FromWeb = ""
    dated: str = ""
    elsewhere: bool = False

    @property
    def where(self) -> str:
        """Where in its document a person finds it: "page 3", "slide 3", "section Risk factors"; empty if unknown."""
        return self.place or (f"page {self.page}" if self.page else "")

    @property
    def recognised(self) -> float | None:
        """How sure text recognition is to have read it right, 0..1; None where the file says the words itself."""
        return mean_confidence(self.lines)

    def recognised_in(self, start: int, end: int) -> float | None:
        """The same of the characters [start, end) alone."""
        return mean_confidence(line for line in self.lines if line.start < end and start < line.end)

    @property
    def indexed_text(self) -> str:
        """What is embedded: of prose, its heading and the text; of a table, its context and its rows without amounts.

        Prose names its subject itself, and the title before every chunk makes all of them alike; a table doesn't.
        """
        if self.kind == "table":
            context, text = self.context, without_spans(self.text, self._amounts())
        else:
            context, text = self.context.removeprefix(self.title).lstrip(" ›"), self.text
        return f"{context}\n{text}" if context else text

    def graded_text(self, limit: int = 0) -> str:
        """What an evaluator reads: the context, then the text (its first `limit` characters; 0: all of it).

        A chunk of a report seldom names its company and year; its title does. Of a table, the rows without amounts.
        """
        size = min(limit, len(self.text)) if limit else len(self.text)
        text = without_spans(self.text[:size], [span for span in self._amounts() if span[1] <= size])
        return f"{self.context}\n{text}" if self.context else text

    def graded_spans(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where [start, end) spans of `text`, in any order, stand in the whole `graded_text()`.

        A span of nothing but amounts is empty.
        """
        shift = len(self.context) + 1 if self.context else 0
        amounts = self._amounts()
        starts, ends = [start for start, _ in amounts], [0, *(end for _, end in amounts)]
        sums = [0, *accumulate(end - start for start, end in amounts)]

        def place(at: int) -> int:
            before = bisect_right(starts, at)
            return at - sums[before] + max(0, ends[before] - at) + shift

        return [(place(start), place(end)) for start, end in spans]

    def _amounts(self) -> list[tuple[int, int]]:
        """The amounts in a table's cells, each with the blank before it. A row of them fills most of what a model
        reads, and says nothing that a question asks by; the label does, with the number that tells it from others.
        """
        cells = (
            [cell for table in self.tables for row in table.rows for cell in row.cells] if self.kind == "table" else []
        )
        amounts = sorted((cell.start, cell.end) for cell in cells if is_amount(self.text[cell.start : cell.end]))
        return [(start - (self.text[start - 1 : start] == " "), end) for start, end in amounts]

    def rects(self, start: int = 0, end: int | None = None) -> tuple[Rect, ...]:
        """The rectangles that the characters [start, end) of `text` cover; a line cut short is cut in proportion."""
        stop = len(self.text) if end is None else end
        return tuple(part.rect for line in self.lines if (part := line.within(start, stop)))


def find_id(wanted: str, names: Mapping[str, str], remedy: str, *, partly: bool = False) -> str:
    """The id of the document with this name, this id, or an id that begins like this. `names` by id.

    With `partly` a part of the name will do, in any case. Raises NotFoundError, which says `remedy`, for none and for
    several.
    """
    found = [id for id, name in names.items() if wanted in (id, name)]
    found = found or [id for id in names if len(wanted) >= 6 and id.startswith(wanted)]
    if partly and wanted.strip():
        folded = wanted.strip().casefold()
        found = found or [id for id, name in names.items() if folded == name.casefold()]
        found = found or [id for id, name in names.items() if folded in name.casefold()]
    if len(found) != 1:
        many = "Several documents are" if found else "There is no document"
        raise NotFoundError(f"{many} called {wanted[:80]}.", remedy)
    return found[0]


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
"""What an answer is worked out as; annual growth and defined: in runs of earlier versions."""


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
