"""Forms: labels that end in a colon, each with its value beside it, two or three pairs on a line; or a line of labels
above a line of their values.

A form's lines are no sentences and its columns no columns: "Age:" is followed by what stands right of it, and a long
value goes on below itself. Each pair becomes one row of a table without a header.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from crag.core.tables import BESIDE
from crag.ingest.cells import is_value
from crag.ingest.layout import Row, Segment, read_rows, segment_of
from crag.ingest.objects import around
from crag.ingest.tables import LaidTable, Piece
from crag.ingest.words import PageWords, Word

# Points.
_BIN = 3.0  # edges that are counted together
_ALIGNED = 4.0  # edges closer than this stand above one another
# Shares of a line's height.
_WRAPPED = 1.35  # a line whose top is so close below the one before may go on what stands above it
_UNDER = 2.0  # a value below its label is no further below
_LARGER = 1.3  # a figure is so much larger than its caption
_NEXT = 3.0  # the next line of a form is no further below
# How many.
_LEAST_PAIRS, _LEAST_LINES = 4, 3
_ROWS_BACK = 4  # lines that a value may go on below
_LEAST_LABELS = 3  # above one another
_MOST_LABEL_WORDS, _MOST_LABEL = 8, 60
_MOST_CAPTION_WORDS, _MOST_BELOW_WORDS = 4, 6  # of a label without a colon, and of a value below its label
_MOST_FIGURE_WORDS, _MOST_CAPTIONED = 3, 3  # words of a large figure, and lines below a label without a colon
_MOST_BELOW = 4  # lines of a value below its label
_SAID = 2  # values that say what a document is about
_LEAST_SAID, _MOST_SAID = 2, 40  # characters of each
_BEFORE_COLON = (")", ".", "?", "%")
# Shares.
_LABELLED = 0.85  # of what stands where labels do, that ends in a colon
_FILLED = 0.5  # of the labels, that have a value, where they stand in one column
_MOST_SEVERAL = 0.2  # of the labels, that have several values on their line: a table of amounts
_MOST_AMOUNTS = 0.7  # of the values, that are bare amounts, where all labels stand in one column


@dataclass(slots=True)
class _Pair:
    """A label, a segment a line, and its value likewise. `cells`: on the label's own line."""

    label: list[Segment]
    value: list[Segment] = field(default_factory=list)
    cells: int = 0


def find_forms(page: PageWords) -> list[LaidTable]:
    """The forms of a page, top to bottom. Their words are taken out of `page.words`."""
    if sum(word.text.endswith(":") for word in page.words) < _LEAST_PAIRS:
        return []
    rows = read_rows(page.words)
    edges = _label_edges(rows)
    if not edges:
        return []
    runs = _runs([_part(row, edges) for row in rows], edges)
    return _take(page, [_as_table(pairs) for run in runs if _is_form(pairs := _read_pairs(run, edges), run)])


def find_stacked(page: PageWords, rows: Sequence[Row]) -> list[LaidTable]:
    """Lines of labels with their values below, among the rows of a page. Their words are taken out of `page.words`."""
    found: list[LaidTable] = []
    used: set[int] = set()
    for place, row in enumerate(rows):
        if not used.intersection(map(id, row.segments)) and (pairs := _stacked_pairs(rows, place)):
            found.append(replace(_as_table(pairs), form=False))
            used.update(id(segment) for pair in pairs for segment in pair.value)
    return _take(page, found)


def _take(page: PageWords, tables: list[LaidTable]) -> list[LaidTable]:
    """The tables. Their words are taken out of the page."""
    pieces = [piece for table in tables for line in table.lines for piece in line]
    used = {id(word) for piece in pieces if piece.segment for word in piece.segment.words}
    page.words = [word for word in page.words if id(word) not in used]
    return tables


def _stacked_pairs(rows: Sequence[Row], place: int) -> list[_Pair]:
    """The labels of a line of nothing else, each with what stands below it; none unless all have a value.

    Names without a colon, and a label alone, have values of one line, half of them with figures: what stands below
    "Contents:" is a list. They are no header: a table has more lines.
    """
    row, below = rows[place], rows[place + 1 : place + 1 + 2 * _MOST_BELOW]
    colons = all(map(_is_label, row.segments))
    if not colons and (len(row.segments) < 2 or any(len(each.words) > _MOST_CAPTION_WORDS for each in row.segments)):
        return []
    pairs = [_Pair([label], _column_below(label, row, below)) for label in row.segments]
    if len(pairs) > 1 and all(map(_is_figure, pairs)):
        return [_Pair([*pair.label, *pair.value]) for pair in pairs]
    values = [segment for pair in pairs for segment in pair.value]
    if not all(pair.value for pair in pairs) or any(len(each.words) > _MOST_BELOW_WORDS for each in values):
        return []
    if colons and len(pairs) > 1:
        return pairs
    several = sum(len(pair.value) > 1 for pair in pairs)
    figures = sum(sum(map(str.isdigit, pair.value[0].text)) > 1 for pair in pairs)
    longest = max(len(pair.value) for pair in pairs)
    if several > (len(pairs) > 1) or longest > _MOST_CAPTIONED or 2 * figures < len(pairs) or len(pairs) + colons < 2:
        return []
    if 1 < len(pairs) < len(below[0].segments) or not all(map(_is_caption, row.segments)):
        return []
    for pair in pairs:
        pair.label = [pair.label[0]._replace(text=pair.label[0].text.rstrip(":") + ":")]
    return pairs


def _is_figure(pair: _Pair) -> bool:
    """Whether something with a digit stands in large letters above its caption."""
    label = pair.label[0]
    large = bool(pair.value) and label.box.height > _LARGER * pair.value[-1].box.height
    return large and len(label.words) <= _MOST_FIGURE_WORDS and any(map(str.isdigit, label.text))


def _column_below(label: Segment, row: Row, below: Sequence[Row]) -> list[Segment]:
    """The segments below a label, line by line, up to another label, a gap, or what stands below several."""
    found, last = [label], row
    for each in below:
        if each.box.top - last.box.top > _UNDER * max(last.height, found[-1].box.height):
            break
        under = [segment for segment in each.segments if _is_under(segment, label)][:1]
        if any(_is_label(one) or sum(one.box.shared(other.box) > 0 for other in row.segments) > 1 for one in under):
            break
        if under:
            found, last = [*found, *under], each
    return found[1 : _MOST_BELOW + 2]


def _is_under(segment: Segment, label: Segment) -> bool:
    """Whether a segment begins where a label with a colon does, or stands below a name or a figure."""
    if _is_label(label):
        return abs(segment.box.left - label.box.left) < _ALIGNED
    return segment.box.shared(label.box) > 0


def _is_caption(segment: Segment) -> bool:
    """Whether a text is a short capitalised name."""
    text = segment.text
    short = len(text) > 1 and len(segment.words) <= _MOST_CAPTION_WORDS
    return short and text[0].isupper() and text[-1] not in ",;" and not any(map(str.isdigit, text))


def form_subject(tables: Sequence[LaidTable], top: float) -> str:
    """What the first values of a page's first form say, if it begins above `top`: the place and number of a report."""
    first = next((each for each in tables if each.form), None)
    if first is None or first.box.top > top:
        return ""
    values = (" ".join(piece.text for piece in line if piece.column is not None) for line in first.lines)
    said = [value for value in values if _LEAST_SAID <= len(value) <= _MOST_SAID and any(map(str.isalnum, value))]
    return ", ".join(said[:_SAID])


def _is_label(segment: Segment) -> bool:
    text = segment.text
    short = len(text) <= _MOST_LABEL and len(segment.words) <= _MOST_LABEL_WORDS
    return short and text.endswith(":") and (text[-2:-1].isalnum() or text[-2:-1] in _BEFORE_COLON)


def _label_edges(rows: Sequence[Row]) -> list[float]:
    """Where labels begin, left to right: the left edges that several of them share."""
    votes = Counter[int]()
    lefts: dict[int, float] = {}
    for row in rows:
        for segment in row.segments:
            if _is_label(segment):
                place = round(segment.box.left / _BIN)
                votes[place] += 1
                lefts.setdefault(place, segment.box.left)
    found: list[float] = []
    for place in sorted(votes):
        if sum(votes[place + step] for step in (-1, 0, 1)) < _LEAST_LABELS:
            continue
        if not found or lefts[place] - found[-1] > _ALIGNED:
            found.append(lefts[place])
    return found


def _part(row: Row, edges: Sequence[float]) -> Row:
    """The row with each label apart from the value that stands close behind it, and from what stands before it."""
    found: list[Segment] = []
    for segment in row.segments:
        own: list[Word] = []
        for number, word in enumerate(segment.words):
            ends = bool(own) and own[-1].text.endswith(":") and _begins(own[0], edges) and len(own) <= _MOST_LABEL_WORDS
            ahead = segment.words[number : number + _MOST_LABEL_WORDS]
            begins = _begins(word, edges) and any(each.text.endswith(":") for each in ahead)
            if own and (ends or begins):
                found.append(segment_of(own))
                own = []
            own.append(word)
        found.append(segment_of(own))
    return row._replace(segments=found)


def _begins(item: Word | Segment, edges: Sequence[float]) -> bool:
    """Whether a word or segment begins where labels do."""
    at = bisect_right(edges, item.box.left)
    return any(abs(item.box.left - edge) < _ALIGNED for edge in edges[max(0, at - 1) : at + 1])


def _runs(rows: Sequence[Row], edges: Sequence[float]) -> Iterator[list[Row]]:
    """Lines on end that have labels, with those that go on a label or a value."""
    run: list[Row] = []
    for place, row in enumerate(rows):
        if run and not (
            _is_below(row, run[-1], _NEXT)
            and (_labels(row, edges) or (_is_below(row, run[-1], _WRAPPED) and _goes_on(row, run, edges)))
        ):
            yield run
            run = []
        if run or _labels(row, edges) or _heads_wrapped(rows, place, edges):
            run.append(row)
    if run:
        yield run


def _labels(row: Row, edges: Sequence[float]) -> bool:
    """Whether a line begins with a label and has nothing but labels where labels begin, or a label's first line."""
    at = [segment for segment in row.segments if _begins(segment, edges)]
    return row.segments[0] in at and any(map(_is_label, at))


def _goes_on(row: Row, run: Sequence[Row], edges: Sequence[float]) -> bool:
    """Whether each segment of a line stands below a label without its colon, or below a value."""
    above = [each.box.left for before in run[-_ROWS_BACK:] for each in before.segments]
    return all(any(abs(segment.box.left - left) < _ALIGNED for left in above) for segment in row.segments)


def _heads_wrapped(rows: Sequence[Row], place: int, edges: Sequence[float]) -> bool:
    """Whether a line is the first of a label of two lines."""
    if place + 1 >= len(rows):
        return False
    row, below = rows[place : place + 2]
    first = row.segments[0]
    wraps = len(row.segments) > 1 and _begins(first, edges) and not first.text.endswith((".", ","))
    return (
        _is_below(below, row, _WRAPPED)
        and wraps
        and len(first.words) <= _MOST_LABEL_WORDS
        and _is_label(below.segments[0])
    )


def _read_pairs(run: Sequence[Row], edges: Sequence[float]) -> list[_Pair]:
    """The pairs of a form, line by line, left to right. What goes on stands below its label or its value."""
    found: list[_Pair] = []
    open_: dict[int, _Pair] = {}  # by the place of the label's edge
    for above, row in zip([None, *run], run, strict=False):
        wrapped = above is not None and _is_below(row, above, _WRAPPED)
        current: _Pair | None = None
        for segment in row.segments:
            place = bisect_right(edges, segment.box.left + _ALIGNED) - 1
            before = open_.get(place)
            if _begins(segment, edges) and (before is None or not _below_value(segment, before)):
                if before is not None and not before.label[-1].text.endswith(":") and wrapped:
                    before.label.append(segment)
                    current = before
                    continue
                current = open_[place] = _Pair([segment])
                found.append(current)
                continue
            if current is not None and _is_label(segment):  # one that stands under no other
                current = _Pair([segment])
                found.append(current)
                continue
            owner = current or before
            if owner is None:
                continue
            owner.value.append(segment)
            owner.cells += owner is current
    return found


def _below_value(segment: Segment, pair: _Pair) -> bool:
    """Whether a segment goes on a value that began where labels do, too."""
    return bool(pair.value) and abs(segment.box.left - pair.value[0].box.left) < _ALIGNED and not _is_label(segment)


def _is_below(row: Row, above: Row, heights: float) -> bool:
    """Whether a line begins no further below another one than this many heights of a line."""
    return row.box.top - above.box.top <= heights * max(above.height, 1.0)


def _is_form(pairs: Sequence[_Pair], run: Sequence[Row]) -> bool:
    filled = [pair for pair in pairs if pair.value]
    labelled = [pair for pair in pairs if pair.label[-1].text.endswith(":")]
    if len(labelled) < max(_LEAST_PAIRS, _LABELLED * len(pairs)) or len(run) < _LEAST_LINES:
        return False
    if sum(pair.cells > 1 for pair in pairs) > _MOST_SEVERAL * len(pairs):
        return False
    amounts = sum(is_value(" ".join(each.text for each in pair.value)) for pair in filled)
    lefts = Counter(round(pair.label[0].box.left / _ALIGNED) for pair in labelled)
    if sum(count >= _LEAST_LABELS for count in lefts.values()) > 1:
        return True  # labels in columns are a form, filled or not
    return len(filled) >= max(_LEAST_PAIRS, _FILLED * len(pairs)) and amounts <= _MOST_AMOUNTS * len(filled)


def _as_table(pairs: Sequence[_Pair]) -> LaidTable:
    """One line a pair."""
    lines = []
    for pair in pairs:
        line: list[Piece] = []
        for number, segment in enumerate((*pair.label, *pair.value)):
            if number:
                bare = number == len(pair.label) and not pair.label[-1].text.endswith(":")
                line.append(Piece(": " if bare else " "))
            line.append(Piece(segment.text, segment, None if number < len(pair.label) else BESIDE))
        lines.append(line)
    segments = [each for pair in pairs for each in (*pair.label, *pair.value)]
    return LaidTable("", lines, box=around([each.box for each in segments]), form=True)
