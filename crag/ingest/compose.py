"""One page's words to its text: paragraphs, headings, tables, with a box for every line. Pure."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat, takewhile
from statistics import median

from crag.core.tables import Cell, Table, place_sections
from crag.core.tables import Row as TableRow
from crag.ingest.cells import Rules
from crag.ingest.direction import mirror_page
from crag.ingest.forms import find_forms, find_stacked, form_subject
from crag.ingest.grids import RuledGrid, ruled_tables
from crag.ingest.layout import Frame, Row, frames, read_order, read_rows
from crag.ingest.margins import drop_line_numbers
from crag.ingest.objects import NOWHERE, Box, around
from crag.ingest.open_tables import find_open_tables
from crag.ingest.sections import ComposedPage
from crag.ingest.table_units import Carried
from crag.ingest.tables import LaidTable, Piece, find_tables
from crag.ingest.words import PageWords
from crag.text.sentences import ITEM

_SCANNED_SHARE, _SCANNED_CHARS = 0.4, 40
_PICTURED_SHARE, _PICTURED_CHARS = 0.9, 250  # a scan with a stamp over it
_PICTURED_EDGES = 8  # more of them are drawn, not scanned
_ANY_SHARE = 0.02  # of a page without any text: smaller pictures are ornaments
_OUTLINED_SHARE = 0.001  # of the same: about a dozen letters drawn as shapes; smaller drawings are rules
_EDGE_ROWS = 3
_AHEAD = 8  # pages on either side that a header or footer is looked for on
_REPEATS = 3
_FORM_TOP = 0.5  # of the first page's height, in which a form begins that says what the document is about
_TOP = 0.3  # of a page's height, in which a header stands
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_NUMBERED = re.compile(
    r"^(?:(?:item|part|note|section|chapter|article|appendix)\s+\w+|\d++\.(?>(?:\d++\.?+)*))\s", re.IGNORECASE
)
_MARKED = re.compile(r"(?<!\s)\s*+\[[\w*†‡]{1,3}\]$")
"""A footnote's mark, which is no part of the value before it."""
_KEEP_HYPHEN = re.compile(r"(?:^|\W)(?:non|self|long|short|well|co|pre|post|mid|high|low|multi|cross|third|full|half)$")
_EDGE_BIN = 6.0  # points; headers and footers within this stand in the same place
_EDGE_CHARS = 120
_LARGEST_ROWS, _LARGEST_CHARS = 60, 200  # of the first page, for the title
_UNDIVIDED = 3  # characters at least of what ends in a hyphen that may divide a word
# A heading: larger than the usual line, or bold, capital or numbered, and short. Characters, but for shares.
_MOST_HEADING, _HEADING_LINES = 120, 4
_LARGER = 1.18  # times the usual line's height
_LEAST_LETTERS, _CAPITAL_LETTERS, _NUMBERED_LETTERS = 3, 4, 6
_SHORT, _SHORT_BOLD, _SHORT_NUMBERED, _SHORT_SENTENCE = 90, 100, 70, 60
_SHORT_LINE = 0.9  # of the block's width
_CAPITAL_SHARE = 0.6  # letters among a capital heading's characters
_HEADING_NEAR = 200  # a heading that ends so far back may go on
# A new paragraph. Shares of the height of the line before, of the block's width; points.
_PARAGRAPH_GAP, _PARAGRAPH_OVERLAP = 0.6, 1.5
_OTHER_SIZE = 0.25  # the least difference in height
_LEAST_SPACED, _MOSTLY = 8, 0.5  # full lines, and their share of all, that show how far apart lines stand
_UNEVEN = 0.25  # of a line's height, by which such distances may differ
_FULL_LINE = 0.75  # of the width: a line that ends earlier may end a paragraph
_INDENT, _FLUSH = 8.0, 4.0


@dataclass(frozen=True, slots=True)
class LaidPage:
    """A page as blocks of rows and tables, before repeated edges are known."""

    number: int
    page: PageWords
    parts: list[tuple[Frame, list[list[Row]]]]
    grids: list[LaidTable]


def compose_pages(
    pages: Iterable[tuple[int, PageWords]], carried: Carried | None = None, *, uneven: float = 1.0
) -> Iterator[ComposedPage]:
    """The text of numbered pages, without the lines that repeat at their edges.

    `carried` takes what is said of tables from page to page. Where heights of letters vary, a line
    must be `uneven` times higher to count as large.
    """
    heights: Counter[float] = Counter()

    def laid() -> Iterator[LaidPage]:
        last: RuledGrid | None = None
        for number, words in pages:
            for word in words.words:
                heights[round((word.box.bottom - word.box.top) * 2) / 2] += len(word.text)
            page, last = lay_out(number, words, last)
            yield page

    for page, repeated in _with_repeats(laid()):
        body = uneven * heights.most_common(1)[0][0] if heights else 10.0
        yield compose(page, repeated, body, carried)


def _with_repeats(laid: Iterator[LaidPage]) -> Iterator[tuple[LaidPage, set[tuple[str, int]]]]:
    """Each page with the edge lines that at least three other pages near it share, in a document of five pages two.

    Pages stay few in memory.
    """
    behind: deque[set[tuple[str, int]]] = deque(maxlen=_AHEAD)
    ahead: deque[tuple[LaidPage, set[tuple[str, int]]]] = deque()
    for page in chain(laid, repeat(None, _AHEAD)):
        if page is not None:
            ahead.append((page, edge_keys(page)))
        if ahead and (len(ahead) > _AHEAD or page is None):
            first, keys = ahead.popleft()
            near = Counter(key for each in [*behind, *(k for _, k in ahead)] for key in each)
            least = _REPEATS if len(behind) + len(ahead) > _REPEATS + 1 else _REPEATS - 1
            behind.append(keys)
            yield first, {key for key in keys if near[key] >= least}


def lay_out(number: int, page: PageWords, last: RuledGrid | None = None) -> tuple[LaidPage, RuledGrid | None]:
    """The page's words in reading order, one part for each direction of text; and the grid of its last ruled table.

    `last`: that of the page before.
    """
    page = drop_line_numbers(page)
    mirror_page(page)
    forms = find_forms(page)
    ruled, last = ruled_tables(page, last)
    rows = read_rows(page.words)
    stacked = find_stacked(page, rows)
    open_ = find_open_tables(page, read_rows(page.words) if stacked else rows)
    grids = sorted([*forms, *ruled, *stacked, *open_], key=lambda each: (each.box.top, each.box.left))
    return LaidPage(number, page, [(frame, read_order(frame.words)) for frame in frames(page)], grids), last


def edge_keys(laid: LaidPage) -> set[tuple[str, int]]:
    """What stands at the top and bottom of a page, numbers levelled: equal on pages that share headers or footers."""
    if not laid.parts:
        return set()
    return {_edge_key(row) for row in _edge_rows(_downwards(laid.parts[0][1]))}


def _downwards(blocks: Sequence[Sequence[Row]]) -> list[Row]:
    return sorted([row for block in blocks for row in block], key=lambda row: row.box.top)


def _edge_rows(rows: list[Row]) -> list[Row]:
    return [*rows[:_EDGE_ROWS], *rows[-_EDGE_ROWS:]]


def _edge_key(row: Row) -> tuple[str, int]:
    return _DIGITS.sub("#", row.text.lower())[:_EDGE_CHARS], round(row.box.top / _EDGE_BIN)


def compose(
    laid: LaidPage, repeated: Collection[tuple[str, int]], body: float, carried: Carried | None = None
) -> ComposedPage:
    """The page's text. Rows whose edge key is in `repeated` are left out; `body` is the usual line height.

    `carried`: what the pages before say of this page's tables.
    """
    page = laid.page
    out = ComposedPage(laid.number, round(page.width, 2), round(page.height, 2), failed=page.failed, cut=page.cut)
    out.unseen, out.recognised, out.garbled = page.unseen, page.recognised, page.garbled
    writer = _Writer(out)
    pending, rules, carried = list(laid.grids), Rules(page.edges), carried or Carried()
    carried.turn()
    for frame, blocks in laid.parts:
        rows = _downwards(blocks)
        edges = {id(row) for row in _edge_rows(rows) if _edge_key(row) in repeated} if repeated else set()
        if len(edges) == len(rows):
            edges = set()  # pages alike but for their numbers: nothing else stands on them
        for block in blocks:
            # A header that comes again on every page is its table's, if it has one, before it is the page's.
            kept = [row for row in block if id(row) not in edges or row.box.top < _TOP * frame.height]
            level = rules if frame.turn == 0 else Rules()
            items: list[Row | LaidTable] = []
            for placed in _before(pending, kept) if frame.turn == 0 else []:
                above = [row for row in kept if row.box.top < placed.box.top]
                items += [*find_tables(above, level, carried.columns), placed]
                kept = kept[len(above) :]
                pending.remove(placed)
            items += find_tables(kept, level, carried.columns)
            carried.tell(items)
            writer.block(frame, [item for item in items if id(item) not in edges], body)
        if laid.number == 1 and frame is laid.parts[0][0]:
            kept = [row for row in rows if id(row) not in edges][:_LARGEST_ROWS]
            out.subject = form_subject(laid.grids, _FORM_TOP * page.height)
            out.largest = [(row.text[:_LARGEST_CHARS].replace("\u00ad", ""), round(row.size, 1)) for row in kept]
    upright = Frame(0, page.width, page.height, [], page.mirrored)
    carried.tell(pending)
    writer.block(upright, pending, body)
    out.text = "".join(writer.parts).rstrip().replace("\u00ad", "-")
    letters = len("".join(out.text.split()))
    out.scanned = page.garbled or (letters < _SCANNED_CHARS and page.image_share > _SCANNED_SHARE)
    stamped = letters < _PICTURED_CHARS and page.image_share > _PICTURED_SHARE and len(page.edges) <= _PICTURED_EDGES
    out.pictured = stamped or (not letters and (page.image_share > _ANY_SHARE or page.path_share > _OUTLINED_SHARE))
    return out


def _before(grids: list[LaidTable], rows: list[Row]) -> list[LaidTable]:
    """The ruled tables that stand above some row of a block, in its width."""
    if not rows:
        return []
    block, last = around([row.box for row in rows]), max(row.box.top for row in rows)
    return [grid for grid in grids if grid.box.top < last and block.shared(grid.box) > 0]


class _Writer:
    """Appends rows and tables to a page's text and notes where each piece stands."""

    def __init__(self, page: ComposedPage) -> None:
        self.page = page
        self.parts: list[str] = []
        self.length = 0

    def block(self, frame: Frame, items: Sequence[Row | LaidTable], body: float) -> None:
        """One block: paragraphs are parted by a line break, lines within one by a space."""
        self._break()
        rows = [item for item in items if isinstance(item, Row)]
        whole = around([row.box for row in rows]) if rows else NOWHERE
        heads = _headings(items, body, whole.width)
        wide = _wide_gap(rows, whole)
        previous: Row | None = None
        for item in items:
            if isinstance(item, LaidTable):
                self._table(frame, item)
                previous = None
                continue
            heading = id(item) in heads
            if previous is not None and (
                _new_paragraph(previous, item, whole, wide) or heading != (id(previous) in heads)
            ):
                self._break()
            if heading:
                self._note_heading(item.text.replace("\u00ad", ""))
            self._row(frame, item)
            previous = item
        self._break()

    def _table(self, frame: Frame, table: LaidTable) -> None:
        self._break()
        start = self.length
        rows: list[tuple[TableRow, str]] = []
        left = min((line[0].segment.box.left for line in table.lines if line and line[0].segment), default=0.0)
        for number, line in enumerate(table.lines):
            row = self._table_row(frame, line, left)
            self._break()
            if number >= table.heads and row.start < row.end:
                label = takewhile(lambda piece: piece.column is None, line)
                rows.append((row, "".join(piece.text for piece in label)))
        if self.length - 1 > start:
            self.page.tables.append(
                Table(
                    start=start,
                    end=self.length - 1,
                    header=tuple(table.names),
                    rows=tuple(row for row, _ in rows) if table.form else place_sections(rows),
                    unit=table.unit,
                    captions=tuple(table.captions),
                    title=table.title,
                    heads=table.context,
                )
            )

    def _table_row(self, frame: Frame, line: list[Piece], left: float) -> TableRow:
        """Write one line of a table, and say where its label and its values stand."""
        start = label = end = self.length
        cells: list[Cell] = []
        goes_on = False  # the cell before, on its next line
        for piece in line:
            if piece.segment is None:
                self._soften()
                self._put(piece.text)
                goes_on = goes_on and piece.text == " "
                continue
            self._join_hyphen(piece.text)
            first = self.length
            self._put(piece.text, frame.back(piece.segment.box), piece.segment.confidence)
            end = self.length
            if piece.column is None:
                label = end
            elif goes_on:
                cells[-1] = cells[-1]._replace(end=end)
            else:
                marked = _MARKED.search(piece.text)
                cells.append(Cell(piece.column, first, end - (len(marked.group()) if marked else 0)))
            goes_on = piece.column is not None
        indent = line[0].segment.box.left - left if line and line[0].segment is not None else 0.0
        return TableRow(start, end, label, tuple(cells), indent=indent)

    def _row(self, frame: Frame, row: Row) -> None:
        for segment in row.segments:
            if not self._join_hyphen(segment.text):
                self._space()
            self._put(segment.text, frame.back(segment.box), segment.confidence)

    def _join_hyphen(self, following: str) -> bool:
        """Undo a word's division at the line's end. A compound's own hyphen stays where that is likely."""
        last = self.parts[-1] if self.parts else ""
        if not last.endswith(("\u00ad", "-")) or len(last) < _UNDIVIDED or not last[-2].isalpha():
            return False
        marked = last.endswith("\u00ad")
        if not following[:1].islower() and not marked:
            return False
        stem = last[:-1].rsplit(None, 1)[-1]
        compound = not following[:1].islower() or _KEEP_HYPHEN.search(stem.lower()) or "-" in stem
        self.parts[-1] = last[:-1] + ("-" if compound else "")
        self.length += len(self.parts[-1]) - len(last)
        if self.page.lines and self.page.lines[-1][1] > self.length:
            line = self.page.lines[-1]
            self.page.lines[-1] = (line[0], self.length, *line[2:])
        return True

    def _put(self, text: str, box: Box | None = None, confidence: float = 1.0) -> None:
        if "\u00ad" in text[:-1] or (box is None and "\u00ad" in text):
            text = text[:-1].replace("\u00ad", "") + text[-1:]
        if not text:
            return
        self.parts.append(text)
        if box is not None:
            left, top, right, bottom = (round(value, 2) for value in box)
            self.page.lines.append(
                (self.length, self.length + len(text), left, top, right, bottom, confidence, self.page.number)
            )
        self.length += len(text)

    def _space(self) -> None:
        if self.parts and not self.parts[-1].endswith((" ", "\n")):
            self._soften()
            self._put(" ")

    def _break(self) -> None:
        if self.parts and self.parts[-1] != "\n":
            self._soften()
            self._put("\n")

    def _soften(self) -> None:
        """A soft hyphen that no line goes on is a hyphen."""
        if self.parts and self.parts[-1].endswith("\u00ad"):
            self.parts[-1] = self.parts[-1][:-1] + "-"

    def _note_heading(self, text: str) -> None:
        headings = self.page.headings
        at = self.length + (1 if self.parts and self.parts[-1] not in ("\n", "") else 0)
        if headings and self.parts and self.parts[-1] != "\n" and headings[-1][0] >= self.length - _HEADING_NEAR:
            # A heading over two lines is one heading.
            start, first = headings[-1]
            headings[-1] = (start, f"{first} {text}"[:_MOST_HEADING])
            return
        headings.append((at, text[:_MOST_HEADING]))


def _headings(items: Sequence[Row | LaidTable], body: float, width: float) -> set[int]:
    """The ids of the rows that are headings: more than three lines on end are emphasised text, no heading."""
    found: set[int] = set()
    run: list[int] = []
    for item in [*items, None]:
        if isinstance(item, Row) and _heading(item, body, width):
            run.append(id(item))
            continue
        if len(run) <= _HEADING_LINES:
            found.update(run)
        run = []
    return found


def _heading(row: Row, body: float, width: float) -> bool:
    """Whether a line stands out as a heading: larger, or bold, capital or numbered, and short."""
    text = row.text
    if len(text) > _MOST_HEADING or text[:1].islower() or len(row.segments) > 2:
        return False
    letters = sum(character.isalpha() for character in text)
    if letters < _LEAST_LETTERS:
        return False
    if text.endswith((",", ";")) or (text.endswith(".") and len(text) > _SHORT_SENTENCE):
        return False
    if row.size > _LARGER * body or (row.bold and len(text) < _SHORT_BOLD):
        return True
    if len(text) >= _SHORT or row.box.width >= _SHORT_LINE * max(width, 1.0):
        return False
    if letters >= _CAPITAL_LETTERS and text.upper() == text and letters > _CAPITAL_SHARE * len(text.replace(" ", "")):
        return True
    numbered = letters >= _NUMBERED_LETTERS and len(text) < _SHORT_NUMBERED and not text.endswith(".")
    return numbered and bool(_NUMBERED.match(text))


def _wide_gap(rows: Sequence[Row], block: Box) -> float:
    """Points between two lines above which the second begins a paragraph; 0 where the lines' height decides.

    On a page of double-spaced prose it is more than what stands between its full lines.
    """
    gaps = [below.box.top - above.box.bottom for above, below in pairwise(rows) if _is_full(above, block)]
    if len(gaps) < _LEAST_SPACED:
        return 0.0
    usual, height = median(gaps), median(row.height for row in rows)
    even = sum(abs(gap - usual) <= _UNEVEN * height for gap in gaps)
    return usual + _UNEVEN * height if even >= _MOSTLY * len(rows) else 0.0


def _is_full(row: Row, block: Box) -> bool:
    return row.box.right >= block.left + _FULL_LINE * block.width


def _new_paragraph(previous: Row, row: Row, block: Box, wide: float) -> bool:
    """Whether a line begins a paragraph: space above, a bullet, another size, or a short line before.

    `wide`: as `_wide_gap` has it.
    """
    height = max(previous.height, 1.0)
    gap = row.box.top - previous.box.bottom
    if gap > max(wide, _PARAGRAPH_GAP * height) or gap < -_PARAGRAPH_OVERLAP * height:
        return True
    if abs(row.height - previous.height) > _OTHER_SIZE * height or ITEM.match(row.text):
        return True
    if len(row.segments) > 1 or len(previous.segments) > 1:
        return True
    indented = row.box.left > block.left + _INDENT and previous.box.left < block.left + _FLUSH
    if indented and previous.text.endswith((".", ":", "?", "!")):
        return True
    ends_short = not _is_full(previous, block)
    return ends_short and (previous.text.endswith((".", ":", ";", "?", "!")) or row.text[:1].isupper())
