"""Tables without lines whose cells go on over several lines: columns by the white between them, rows by the leading.

A column is what white space parts from the next one through all lines of a run. A row ends where the lines of all
columns stand further apart than those of one cell; where they nowhere do, it begins with the first column's next text.
What the cells say is read as a ruled table's are. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from crag.ingest.cells import is_value
from crag.ingest.grid import GridCell, GridTable, read_grid
from crag.ingest.grids import lay_table
from crag.ingest.layout import Row, Segment, read_rows, segment_of
from crag.ingest.objects import Box, around
from crag.ingest.tables import LaidTable
from crag.ingest.words import PageWords

_MARK = re.compile(r"[•‣◦▪●○·*–—-]|[(\[]?(?:[\d.]{1,8}|[a-zA-Z]|[ivxIVX]{1,5})[.)\]]*")
"""What begins an item of a list."""
_LEADER = re.compile(r"(?:[.…_] ?){4}")
_MOST_SEGMENTS = 1500
# Shares of a line's height.
_APART = 1.6  # lines of one run are no further apart
_GAP = 0.42  # what parts two columns is no narrower
_LEADING = 0.2  # more white than this beyond the usual parts rows
_OFF = 0.3  # what stands so far apart stands on two lines
_SPACE = 0.25  # between two words
# Points.
_BIN = 16.0  # the width of a strip of the page
_ALIGNED = 3.0  # edges that are counted together
# Shares.
_BROKEN = 0.25  # of the blocks that white parts, which may be several rows
_ENDED = 0.5  # of the rows, whose text ends before its column does
_LINED_UP = 0.6  # of a column's lines, that begin, end or are centred at one place
_SEVERAL = 0.33  # of the rows of two columns, that have several lines
_LABELLED = 0.2  # of the texts, that end in a colon: a form
_MARKED = 0.8  # of the first column, that are marks of a list
_FILLED = 0.4  # of a table's places, that hold text
# How many.
_LEAST_ROWS = 3
_TEXT_WORDS = 4  # of a line: a column with such lines may be running text
_MOST_CELL_WORDS, _MOST_LABEL_WORDS = 150, 30
_MOST_NAME = 60  # characters of what may name a column

Span = tuple[float, float]


class _Line(NamedTuple):
    """A line of a table: its text by the first and the last column over which it stands."""

    box: Box
    height: float
    cells: dict[int, Segment]
    ends: dict[int, int]

    @property
    def is_over(self) -> bool:
        """Whether one text stands over several columns alone."""
        return len(self.cells) == 1 and self.ends.keys() != set(self.ends.values())


def find_open_tables(page: PageWords) -> list[LaidTable]:
    """The tables without lines of a page, top to bottom. Their words are taken out of `page.words`."""
    rows = read_rows([word for word in page.words if word.turn == 0], _MOST_SEGMENTS)
    found: list[LaidTable] = []
    if sum(len(row.segments) > 1 for row in rows) < _LEAST_ROWS:
        return found
    used: set[int] = set()
    for run, gaps in _runs(rows):
        table = _read([_line(row, gaps) for row in run]) if gaps else None
        if table is not None:
            found.append(table)
            used.update(id(word) for row in run for segment in row.segments for word in segment.words)
    page.words = [word for word in page.words if id(word) not in used]
    return found


# ---- columns -------------------------------------------------------------------------------------------------------


def _runs(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Span]]]:
    """Lines on end that leave the same white between their columns, and this white."""
    run: list[list[Row]] = []
    gaps: dict[Span, int] = {}  # each with the number of lines that have text on both sides of it
    over: list[list[Row]] = []
    bottom = 0.0
    for unit in _units(rows):
        spans = _spans(unit)
        own = dict.fromkeys(_between(spans), len(unit))
        kept, lost = _keep(gaps, unit, spans)
        near = bool(run) and unit[0].box.top - bottom < _APART * unit[0].height
        bottom = max(bottom, *(row.box.bottom for row in unit))
        if near and lost and not over and len(unit) == 1 and len(spans) == 1:
            over = [unit]
            continue
        if near and (not lost or (kept and max(lost) < max(2, max(kept.values()) // 2))):
            run, gaps, over = [*run, *over, unit], kept, []
            continue
        head: list[list[Row]] = []
        if near and own and not over:  # the line above may name the columns
            both, lost = _keep(own, run[-1], _spans(run[-1]))
            if not lost and len(_supported(both)) > len(_supported(gaps)):
                head, own = [run.pop()], both
        yield [row for each in run for row in each], _supported(gaps)
        run, gaps, over = ([*head, unit], own, []) if own else ([], {}, [])
    yield [row for each in run for row in each], _supported(gaps)


def _supported(gaps: dict[Span, int]) -> list[Span]:
    return sorted(gap for gap, count in gaps.items() if count > 1)


def _units(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Lines that stand as close as those of one text, where all of them leave some white between columns; else one."""
    usual = _usual_white([segment for row in rows for segment in row.segments])
    block: list[Row] = []
    bottom = 0.0
    for row in [*rows, None]:
        if row is None or (block and row.box.top - bottom > usual + _LEADING * row.height):
            spans = _spans(block)
            yield from [block] if len(spans) > 1 else ([each] for each in block)
            block = []
        if row is not None:
            bottom = max(bottom, row.box.bottom) if block else row.box.bottom
            block.append(row)


def _usual_white(segments: Sequence[Segment]) -> float:
    """How much white there usually is between a line and the one of the same text above it, in points."""
    last: dict[int, float] = {}
    found: list[float] = []
    for segment in segments:
        strips = range(int(segment.box.left / _BIN), int(segment.box.right / _BIN) + 1)
        above = max((last[strip] for strip in strips if strip in last), default=None)
        if above is not None:
            found.append(segment.box.top - above)
        last.update(dict.fromkeys(strips, segment.box.bottom))
    return sorted(found)[len(found) // 8] if found else 0.0


def _spans(rows: Sequence[Row]) -> list[Span]:
    """Where text stands, from left to right, words closer than columns joined."""
    found: list[Span] = []
    least = _GAP * rows[0].height
    for left, right in sorted((w.box.left, w.box.right) for row in rows for s in row.segments for w in s.words):
        if found and left - found[-1][1] < least:
            if right > found[-1][1]:
                found[-1] = found[-1][0], right
        else:
            found.append((left, right))
    return found


def _between(spans: Sequence[Span]) -> list[Span]:
    return [(one[1], other[0]) for one, other in pairwise(spans)]


def _keep(gaps: dict[Span, int], unit: Sequence[Row], spans: Sequence[Span]) -> tuple[dict[Span, int], list[int]]:
    """What a unit leaves of the gaps, and the counts of those over which it is written."""
    kept: dict[Span, int] = {}
    lost: list[int] = []
    for (left, right), count in gaps.items():
        inner = [span for span in spans if span[1] > left and span[0] < right]
        free = _between([(left, left), *inner, (right, right)])
        free = [gap for gap in free if gap[1] - gap[0] >= _GAP * unit[0].height]
        if not free:
            lost.append(count)
        for gap in free:
            both = spans[0][0] < gap[0] and spans[-1][1] > gap[1]
            kept[gap] = count + both * len(unit)
    return kept, lost


def _line(row: Row, gaps: Sequence[Span]) -> _Line:
    """A line's text parted at the gaps; what is written over one is of both its columns."""
    middles = [(left + right) / 2 for left, right in gaps]
    words = sorted((word for segment in row.segments for word in segment.words), key=lambda word: word.box.left)
    placed = [(sum(middle < word.box.x for middle in middles), word) for word in words]
    groups = [(column, [word for _, word in each]) for column, each in groupby(placed, key=itemgetter(0))]
    cells: dict[int, Segment] = {}
    ends: dict[int, int] = {}
    first, own, end = groups[0][0], groups[0][1], groups[0][0]
    for column, more in groups[1:]:
        if more[0].box.left - own[-1].box.right < _GAP * row.height:
            own, end = [*own, *more], column
            continue
        cells[first], ends[first] = segment_of(own), end
        first, own, end = column, more, column
    cells[first], ends[first] = segment_of(own), end
    return _Line(row.box, row.height, cells, ends)


# ---- rows ----------------------------------------------------------------------------------------------------------


def _read(lines: list[_Line]) -> LaidTable | None:
    """The table that some lines are; None where they are something else."""
    columns = _columns(lines)
    segments = [segment for each in columns.values() for segment in each]
    marks = next((at for at, each in enumerate(columns.values()) if not _are_marks(each)), len(columns))
    if len(columns) - marks < 2 or not all(map(_line_up, columns.values())):
        return None
    if sum(segment.text.endswith(":") for segment in segments) > _LABELLED * len(segments):
        return None
    if any(_LEADER.search(" ".join(segment.text for segment in line.cells.values())) for line in lines):
        return None
    blocks = _part(lines, columns)
    cells = list(_grid_cells(blocks))
    if any(len(cell.text.split()) > (_MOST_CELL_WORDS if cell.column else _MOST_LABEL_WORDS) for cell in cells):
        return None
    table = read_grid(cells)
    full = sum(bool(row.labels and row.cells) for row in table.rows)
    several = {cell.row for cell in cells if len(cell.payload) > 1}
    wide = len(columns) > 2
    if full < _FILLED * len(blocks) or full + (wide and bool(table.header)) < _LEAST_ROWS:
        return None
    if len(several) < (1 if wide else _SEVERAL * len(blocks)) or (wide and _are_amounts(table)):
        return None
    return lay_table(table, around([line.box for line in lines]))


def _are_amounts(table: GridTable) -> bool:
    """Whether most values are amounts that stand on the first or the last line of their labels: their lines say it all."""
    values = [cell for row in table.rows for _, cell in row.cells]
    amounts = sum(is_value(cell.text) for cell in values)
    return 2 * amounts > len(values) and not any(
        all(abs(cell.payload[0].box.y - line.box.y) > _OFF * line.box.height for line in (label[0], label[-1]))
        for row in table.rows
        for label in [row.labels[0].payload if row.labels else ()]
        for _, cell in row.cells
        if len(label) > 1
    ) and all(len(cell.payload) < 2 for cell in values)


def _columns(lines: Sequence[_Line]) -> dict[int, list[Segment]]:
    """The texts that stand in one column each, line by line."""
    found: dict[int, list[Segment]] = {}
    for line in lines:
        for column, segment in line.cells.items():
            if line.ends[column] == column:
                found.setdefault(column, []).append(segment)
    return dict(sorted(found.items()))


def _are_marks(segments: Sequence[Segment]) -> bool:
    return sum(bool(_MARK.fullmatch(segment.text)) for segment in segments) > _MARKED * len(segments)


def _line_up(segments: Sequence[Segment]) -> bool:
    """Whether the text of a column begins, ends or is centred at one place."""
    best = 0
    for places in ([s.box.left for s in segments], [s.box.right for s in segments], [s.box.x for s in segments]):
        votes = Counter(round(place / _ALIGNED) for place in places)
        best = max(best, *(votes[place] + max(votes[place - 1], votes[place + 1]) for place in list(votes)))
    return best >= _LINED_UP * len(segments)


def _part(lines: Sequence[_Line], columns: dict[int, list[Segment]]) -> list[list[_Line]]:
    """The lines of each row; none where they are running text."""
    inner = [below.box.top - above.box.bottom for each in columns.values() for above, below in pairwise(each)]
    if not inner:
        return []
    usual = sorted(inner)[len(inner) // 8] + _LEADING * median(line.height for line in lines)
    widths = {column: max(segment.box.width for segment in each) for column, each in columns.items()}
    amounts = {c for c, each in columns.items() if 2 * sum(map(_is_amount, each)) > len(each)}

    def begins(block: Sequence[_Line], line: _Line) -> bool:
        return line.box.top - max(each.box.bottom for each in block) > usual

    def begins_closely(block: Sequence[_Line], line: _Line) -> bool:
        return not _goes_on(block, line, widths, amounts)

    for starts, least in ((begins, _ENDED / 2), (begins_closely, _ENDED)):
        blocks: list[list[_Line]] = []
        for line in lines:
            if not blocks or line.is_over or blocks[-1][-1].is_over or starts(blocks[-1], line):
                blocks.append([])
            blocks[-1].append(line)
        several = [block for block in blocks if len(block) > 1]
        if sum(_is_broken(block, widths, amounts) for block in several) <= _BROKEN * len(several):
            break
    text = [c for c, each in columns.items() if max(len(segment.words) for segment in each) >= _TEXT_WORDS]
    for column in text:
        ended = [
            _ends(above, below, widths[column])
            for one, other in pairwise(blocks)
            if (above := _last(one, column)) and (below := _last(other[::-1], column))
        ]
        if sum(ended) < least * len(ended):
            return []
    return blocks


def _last(block: Sequence[_Line], column: int) -> Segment | None:
    return next((line.cells[column] for line in reversed(block) if column in line.cells), None)


def _is_amount(segment: Segment) -> bool:
    return is_value(segment.text.rstrip("€$£ "))


def _ends(above: Segment, below: Segment, width: float) -> bool:
    """Whether a text ends above another one: the first word below would have stood behind it."""
    return above.box.width + _SPACE * above.box.height + below.words[0].box.width < width


def _is_broken(block: Sequence[_Line], widths: dict[int, float], amounts: set[int]) -> bool:
    """Whether a block is several rows: its first column has a second text, or one of amounts several lines."""
    for above, below in pairwise(block):
        if 0 in above.cells and 0 in below.cells and len(below.cells) > 1:
            if _ends(above.cells[0], below.cells[0], widths.get(0, 0.0)):
                return True
    own = [[line.cells[column] for line in block if column in line.cells] for column in amounts]
    return any(len(each) > 1 and any(map(_is_amount, each)) for each in own)


def _goes_on(block: Sequence[_Line], line: _Line, widths: dict[int, float], amounts: set[int]) -> bool:
    """Whether a line goes on with the cells of a row."""
    above = block[-1].cells
    if any(column in line.cells and any(column in each.cells for each in block) for column in amounts):
        return False
    if 0 not in line.cells:
        return True
    if line.cells.keys() >= block[0].cells.keys() or not line.cells.keys() <= above.keys():
        return False
    return not any(_ends(above[column], segment, widths.get(column, 0.0)) for column, segment in line.cells.items())


def _grid_cells(blocks: Sequence[Sequence[_Line]]) -> Iterator[GridCell]:
    for number, block in enumerate(blocks):
        for column in sorted({column for line in block for column in line.cells}):
            own = [line.cells[column] for line in block if column in line.cells]
            yield GridCell(
                row=number,
                column=column,
                columns=1 + max(line.ends[column] for line in block if column in line.cells) - column,
                text=" ".join(segment.text for segment in own).replace("\u00ad", "-"),
                bold=all(segment.words[0].bold for segment in own) and sum(len(each.text) for each in own) <= _MOST_NAME,
                payload=tuple(own),
            )
