"""Tables without lines: columns by the white that parts them in line after line, rows by the leading of their lines.

A row ends where the lines of all columns stand further apart than those of one cell; where they nowhere do, it begins
with the first column's next text. What the cells say is read as a ruled table's are. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple, TypeVar

from crag.ingest.cells import is_value
from crag.ingest.grid import GridCell, GridRow, GridTable, read_grid
from crag.ingest.grids import lay_table
from crag.ingest.layout import Row, Segment, segment_of
from crag.ingest.objects import Box, around
from crag.ingest.tables import LaidTable
from crag.ingest.words import PageWords

_BULLET, _MARK = re.compile("[•‣◦▪●○·*–—-]{1,2}"), re.compile(r"[(\[]?(?:[\d.]{1,8}|[a-zA-Z]|[ivxIVX]{1,5})[.)\]]*")
"""What begins an item of a list."""
_LEADER = re.compile(r"(?:[._…] ?){4}")
"""What leads from an entry to its page."""
# Shares of a line's height.
_APART = 1.6  # lines of one table are no further apart
_GAP = 0.42  # what parts two columns is no narrower
_LEADING = 0.2  # more white than this beyond the usual parts rows
_SPACE = 0.25  # between two words
_LARGER = 1.5  # a line so much higher, or lower, is of something else
_OFF = 0.3  # what stands so far apart stands on two lines
# Points.
_LEAST_GAP = 4.0
_STRIP = 16.0  # the width of a strip of the page
_ALIGNED = 3.0  # edges that are counted together
# Shares.
_TIGHT = 8  # of the lines, one in this number stands closer to the one above than cells' lines do
_BROKEN = 0.25  # of the blocks that white parts, that may be several rows
_ENDED = 0.5  # of the rows, whose text ends before its column does; half of it where white parts them
_LINED_UP = 0.6  # of a column's lines, that begin, end or are centred at one place
_IN_LINE = 0.85  # of the cells, that begin or end with their row or are centred in it
_FILLED = 0.4  # of the rows, that have a label and a value
_SEVERAL = 0.33  # of the rows of two columns, that have several lines
_LABELLED = 0.2  # of the texts, that end in a colon, in no form
_FIGURES = 0.5  # of the words, that are figures, in a table of amounts
_AMOUNTS = 0.4  # of the words beside the labels, that are amounts, in a table that is read line by line
_MARKED = 0.6  # of a column's texts, that are marks of a list
# How many.
_LEAST_ROWS = 3
_AROUND = 5  # lines of one text before and behind a line of several, that may be of its table
_TEXT_WORDS = 4  # of a line: a column with such lines may be running text
_MOST_CELL_WORDS, _MOST_LABEL_WORDS = 150, 30
_MOST_BOLD = 60  # characters of what may name a column for being bold

Gap = tuple[float, float]
_PAGE: Gap = (-1e4, 1e4)
_T = TypeVar("_T")


class _Line(NamedTuple):
    """A line of a table: its texts by the first column of each, and the last column of each."""

    box: Box
    cells: dict[int, Segment]
    ends: dict[int, int]

    @property
    def is_over(self) -> bool:
        """Whether one text stands over several columns alone."""
        return len(self.cells) == 1 and self.cells.keys() != set(self.ends.values())


def find_open_tables(page: PageWords, rows: Sequence[Row]) -> list[LaidTable]:
    """The tables without lines among the rows of a page, top to bottom. Their words are taken out of `page.words`."""
    found, used = list[LaidTable](), set[int]()
    parted = [at for at, row in enumerate(rows) if len(row.segments) > 1]
    near = {place for at in parted for place in range(at - _AROUND, at + _AROUND + 1)} if len(parted) > 1 else set()
    stretches = [[rows[at] for at in each] for is_near, each in groupby(range(len(rows)), near.__contains__) if is_near]
    for run, gaps in (each for stretch in stretches if not _is_figures(stretch) for each in _runs(stretch)):
        if gaps and not _is_figures(run) and (table := _read([_line(row, gaps) for row in run])):
            found.append(table)
            used.update(id(word) for row in run for segment in row.segments for word in segment.words)
    page.words = [word for word in page.words if id(word) not in used]
    return found


def _is_figures(rows: Sequence[Row]) -> bool:
    """Whether most words are figures: such a table is read by the places of its amounts."""
    words = [word.text for row in rows for segment in row.segments for word in segment.words]
    return sum(text.lower() == text.upper() and ":" not in text for text in words) > _FIGURES * len(words)


# ---- columns -------------------------------------------------------------------------------------------------------


def _runs(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Gap]]]:
    """Lines on end that leave the same white between their columns, and this white."""
    run: list[list[Row]] = []
    gaps: dict[Gap, int] = {}  # each with the number of lines that have text on both sides of it
    over: list[list[Row]] = []  # a line that stands over the columns alone, if the table goes on
    bottom = 0.0
    for unit, spans in _units(rows):
        kept, lost = _keep(gaps, unit, spans)
        near = bool(run) and _goes_on(run[-1][-1], unit[0], bottom)
        bottom = max(bottom, *(row.box.bottom for row in unit))
        if near and lost and not over and len(unit) == len(spans) == 1:
            over = [unit]
        elif near and (not lost or (any(kept.values()) and max(lost) < max(2, max(kept.values()) // 2))):
            run, gaps, over = [*run, *over, unit], kept, []
        else:
            head: list[list[Row]] = []
            own, _ = _keep({_PAGE: 0}, unit, spans)
            if near and len(spans) > 1 and not over:  # the line above may name the columns
                both, lost = _keep(own, run[-1], _spans(run[-1]))
                if not lost and len(_shared(both)) > len(_shared(gaps)):
                    head, own = [run.pop()], both
            yield [row for each in run for row in each], _shared(gaps)
            run, gaps, over = ([*head, unit] if len(spans) > 1 else []), own, []
    yield [row for each in run for row in each], _shared(gaps)


def _goes_on(last: Row, row: Row, bottom: float) -> bool:
    """Whether a line is close enough to the ones before, and of their size."""
    small, large = sorted((last.height, row.height))
    return row.box.top - bottom < _APART * row.height and large < _LARGER * small


def _shared(gaps: dict[Gap, int]) -> list[Gap]:
    return sorted(gap for gap, lines in gaps.items() if lines > 2)


def _units(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Gap]]]:
    """Lines as close as those of one text, where all leave some white between columns, else single ones; their text."""
    last: dict[int, float] = {}  # where text ends in each strip of the page
    white: list[float] = []
    for segment in (segment for row in rows for segment in row.segments):
        strips = range(int(segment.box.left / _STRIP), int(segment.box.right / _STRIP) + 1)
        white += [segment.box.top - max(above)] if (above := [last[strip] for strip in strips if strip in last]) else []
        last.update(dict.fromkeys(strips, segment.box.bottom))
    usual = sorted(white)[len(white) // _TIGHT] if white else 0.0
    for unit in _blocks(rows, lambda block, row: _white(block, row) > usual + _LEADING * row.height):
        spans = _spans(unit)
        yield from [(unit, spans)] if len(spans) > 1 or len(unit) < 2 else (([row], _spans([row])) for row in unit)


def _blocks(lines: Sequence[_T], begins: Callable[[list[_T], _T], bool]) -> list[list[_T]]:
    """The lines, a new block wherever one begins."""
    found: list[list[_T]] = []
    for line in lines:
        if not found or begins(found[-1], line):
            found.append([])
        found[-1].append(line)
    return found


def _white(block: Sequence[Row | _Line], line: Row | _Line) -> float:
    return line.box.top - max(each.box.bottom for each in block[-_AROUND:])


def _spans(rows: Sequence[Row]) -> list[Gap]:
    """Where text stands, from left to right, words closer than columns joined."""
    found: list[Gap] = []
    least = _least(rows[0])
    for left, right in sorted((w.box.left, w.box.right) for row in rows for s in row.segments for w in s.words):
        if found and left - found[-1][1] < least:
            found[-1] = found[-1][0], max(right, found[-1][1])
        else:
            found.append((left, right))
    return found


def _least(row: Row) -> float:
    return max(_LEAST_GAP, _GAP * row.height)


def _between(spans: Sequence[Gap]) -> list[Gap]:
    return [(one[1], other[0]) for one, other in pairwise(spans)]


def _keep(gaps: dict[Gap, int], unit: Sequence[Row], spans: Sequence[Gap]) -> tuple[dict[Gap, int], list[int]]:
    """What some lines leave of the gaps, and the counts of those over which they are written."""
    kept, lost = dict[Gap, int](), list[int]()
    starts, ends = [span[0] for span in spans], [span[1] for span in spans]
    for (left, right), lines in gaps.items():
        inner = spans[bisect_right(ends, left) : bisect_left(starts, right)]
        free = _between([(left, left), *inner, (right, right)])
        free = [gap for gap in free if gap[1] - gap[0] >= _least(unit[0])]
        lost += [] if free else [lines]
        for gap in free:
            kept[gap] = lines + len(unit) * (spans[0][0] < gap[0] and spans[-1][1] > gap[1])
    return kept, lost


def _line(row: Row, gaps: Sequence[Gap]) -> _Line:
    """A line's texts parted at the gaps; what is written over one is of both its columns."""
    middles = [(left + right) / 2 for left, right in gaps]
    words = sorted((word for segment in row.segments for word in segment.words), key=lambda word: word.box.left)
    line = _Line(row.box, {}, {})
    first = last = -1
    for column, each in groupby(words, key=lambda word: bisect_left(middles, word.box.x)):
        own = list(each)
        if last >= 0 and own[0].box.left - line.cells[first].words[-1].box.right < _least(row):
            own = [*line.cells[first].words, *own]
        else:
            first = column
        last = line.ends[first] = column
        line.cells[first] = segment_of(own)
    return line


# ---- rows ----------------------------------------------------------------------------------------------------------


def _read(lines: Sequence[_Line]) -> LaidTable | None:
    """The table that some lines are; None where they are something else."""
    numbers = sorted({column for line in lines for column in line.cells})
    columns = {column: [line.cells[column] for line in lines if line.ends.get(column) == column] for column in numbers}
    columns = {column: each for column, each in columns.items() if each}
    marks = next((at for at, each in enumerate(columns.values()) if not _share(each, _is_mark) > _MARKED), len(columns))
    if len(columns) - marks < 2 or not all(map(_line_up, columns.values())):
        return None
    if _share([cell for each in columns.values() for cell in each], lambda cell: cell.text.endswith(":")) > _LABELLED:
        return None
    if any(_LEADER.search(" ".join(cell.text for cell in line.cells.values())) for line in lines):
        return None
    cells = list(_grid_cells(_part(lines, columns)))
    if any(len(cell.text.split()) > (_MOST_CELL_WORDS if cell.column else _MOST_LABEL_WORDS) for cell in cells):
        return None
    table, wide = read_grid(cells), len(columns) > 2
    rows, several = {cell.row for cell in cells}, {cell.row for cell in cells if len(cell.payload) > 1}
    full = sum(bool(row.labels and row.cells) for row in table.rows)
    if full < _FILLED * len(rows) or full + (wide and bool(table.header)) < _LEAST_ROWS:
        return None
    if len(several) < (1 if wide else _SEVERAL * len(rows)) or _is_read_by_line(table, wide=wide):
        return None
    return lay_table(table, around([line.box for line in lines]))


def _share(items: Sequence[_T], test: Callable[[_T], bool]) -> float:
    return sum(map(test, items)) / max(1, len(items))


def _is_mark(cell: Segment) -> bool:
    return bool(_MARK.fullmatch(cell.text) or _BULLET.fullmatch(cell.words[0].text))


def _is_amount(cell: Segment) -> bool:
    return is_value(cell.text.rstrip("€$£ "))


def _line_up(cells: Sequence[Segment]) -> bool:
    """Whether the texts of a column begin, end or are centred at one place."""
    best = 0
    for places in ([c.box.left for c in cells], [c.box.right for c in cells], [c.box.x for c in cells]):
        votes = Counter(round(place / _ALIGNED) for place in places)
        best = max(best, *(votes[place] + max(votes[place - 1], votes[place + 1]) for place in list(votes)))
    return best >= _LINED_UP * len(cells)


def _is_read_by_line(table: GridTable, *, wide: bool) -> bool:
    """Whether most of what the values say is amounts, several in a cell or on the first or last line of a label."""
    values = [cell for row in table.rows for _, cell in row.cells]
    if _share([word for cell in values for word in cell.text.split()], is_value) <= _AMOUNTS:
        return False
    tall = [row for row in table.rows if row.labels and row.cells and len(row.labels[0].payload) > 1]
    return not all(is_value(cell.text) for cell in values) or (wide and not _share(tall, _is_between) > 0.5)


def _is_between(row: GridRow) -> bool:
    """Whether the first value of a row stands on neither the first nor the last line of its label."""
    value, label = row.cells[0][1].payload[0].box, row.labels[0].payload
    return all(abs(value.y - line.box.y) > _OFF * line.box.height for line in (label[0], label[-1]))


def _part(lines: Sequence[_Line], columns: dict[int, list[Segment]]) -> list[list[_Line]]:
    """The lines of each row; none where they are running text."""
    inner = [below.box.top - above.box.bottom for each in columns.values() for above, below in pairwise(each)]
    if not inner:
        return []
    usual = sorted(inner)[len(inner) // _TIGHT] + _LEADING * median(line.box.height for line in lines)
    widths = {column: max(cell.box.width for cell in each) for column, each in columns.items()}
    amounts = {column for column, each in columns.items() if _share(each, _is_amount) > 0.5}

    def ends(column: int, above: _Line, below: _Line) -> bool:
        """Whether a text ends above another one of its column: the first word below would have stood behind it."""
        if column not in above.cells or column not in below.cells:
            return False
        one, word = above.cells[column].box, below.cells[column].words[0].box
        return one.width + _SPACE * one.height + word.width < widths.get(column, 0.0)

    def begins(block: list[_Line], line: _Line) -> bool:
        return line.is_over or block[-1].is_over or _white(block, line) > usual

    def begins_closely(block: list[_Line], line: _Line) -> bool:
        own, first, above = line.cells.keys(), block[0].cells.keys(), block[-1].cells.keys()
        shared = own & amounts
        if line.is_over or block[-1].is_over or (shared and any(shared & each.cells.keys() for each in block)):
            return True
        return 0 in own and (own >= first or not own <= above or any(ends(column, block[-1], line) for column in own))

    def is_broken(block: list[_Line]) -> bool:
        """Whether a block is several rows: its first column has a second text, or one of amounts several lines."""
        for above, below in pairwise([line for line in block if 0 in line.cells]):
            apart = below.cells[0].box.top - above.cells[0].box.bottom > usual
            if len(below.cells) > 1 and (apart or ends(0, above, below)):
                return True
        own = [[line.cells[column] for line in block if column in line.cells] for column in amounts]
        return any(len(each) > 1 and any(map(_is_amount, each)) for each in own)

    rows, least = _blocks(lines, begins), _ENDED / 2
    if _share([row for row in rows if len(row) > 1], is_broken) > _BROKEN:
        rows, least = _blocks(lines, begins_closely), _ENDED
    if _share([_is_in_line(row, own) for row in rows for own in _own(row)], bool) < _IN_LINE:
        return []
    for column, each in columns.items():
        parted = [
            ends(column, above[-1], below[0])
            for one, other in pairwise(rows)
            if (above := [line for line in one if column in line.cells])
            and (below := [line for line in other if column in line.cells])
        ]
        if max(len(cell.words) for cell in each) >= _TEXT_WORDS and sum(parted) < least * len(parted):
            return []
    return rows


def _own(row: Sequence[_Line]) -> list[list[Segment]]:
    """The lines of each cell of a row."""
    columns = sorted({column for line in row for column in line.cells})
    return [[line.cells[column] for line in row if column in line.cells] for column in columns]


def _is_in_line(row: Sequence[_Line], own: Sequence[Segment]) -> bool:
    """Whether a cell begins or ends where its row does, or is centred in it."""
    over, under = own[0].box.top - row[0].box.top, max(line.box.bottom for line in row) - own[-1].box.bottom
    return min(over, under, abs(over - under)) < _OFF * own[0].box.height


def _grid_cells(rows: Sequence[Sequence[_Line]]) -> Iterator[GridCell]:
    for number, row in enumerate(rows):
        for column in sorted({column for line in row for column in line.cells}):
            lines = [line for line in row if column in line.cells]
            own = tuple(line.cells[column] for line in lines)
            text = " ".join(segment.text for segment in own).replace("\u00ad", "-")
            yield GridCell(
                row=number,
                column=column,
                columns=1 + max(line.ends[column] for line in lines) - column,
                text=text,
                bold=len(text) <= _MOST_BOLD and all(segment.words[0].bold for segment in own),
                payload=own,
            )
