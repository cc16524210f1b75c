"""Rows of tables and figures in an answer: rows drawn as a small table, figures that no source has marked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from crag.core.types import Answer, FigureCheck, SentenceCheck
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.passage import Layer
from crag.export.quoted_rows import QuotedRows
from crag.generation.citations import MARK
from crag.messages.answers import figure_sentence, remarkable

_WIDE = 4
"""Columns from which a single row is drawn as a list: beside each other they would not be seen on a narrow page."""


def draw_rows(found: QuotedRows, whole: Answer, button: Html) -> Html:
    """The rows under the names of their columns, with the cells that answer marked; one wide row as a list of cells."""
    names = found.names
    rows = [
        (label, [h.td("answering" if answers else None)[cell] for cell, answers in cells])
        for label, cells in found.lines(whole)
    ]
    if len(rows) == 1 and len(names) >= _WIDE and all(names):
        label, drawn = rows[0]
        lines = [h.tr[h.th(scope="row")[name], cell] for name, cell in zip(names, drawn, strict=True)]
        shown = h.table("turned")[label and h.caption[label], h.tbody[lines]]
    else:
        head = any(names) and h.thead[h.tr[h.td[""], (h.th(scope="col")[name] for name in names)]]
        shown = h.table[head, h.tbody[(h.tr[h.th(scope="row")[label], drawn] for label, drawn in rows)]]
    return h.div("quoted-rows")[shown, h.div("small")[h.span("keep")[button], found.about and f" {found.about}"]]


_SIGN = "?"
"""Beside the figure, since a line below it alone is easily overlooked."""


def figures_layer(answer: str, sentences: Iterable[tuple[int, int, SentenceCheck]]) -> Layer:
    """Marks each figure that is to be marked; `sentences` as `locate_checks` gives them.

    A check's sentence has other spaces and no marks, so that letters are counted.
    """
    bare = MARK.sub(lambda mark: " " * len(mark.group()), answer)
    found: list[tuple[int, int, FigureCheck]] = []
    for start, end, check in sentences:
        marked = remarkable([check])
        if not marked:
            continue
        letters = [place for place in range(start, end) if not bare[place].isspace()]
        own = [place for place, letter in enumerate(check.sentence) if not letter.isspace()]
        for figure in marked:
            first, last = bisect_left(own, figure.start), bisect_left(own, figure.end) - 1
            if first <= last < len(letters):
                found.append((letters[first], letters[last] + 1, figure))
    return sorted(found, key=lambda each: each[:2]), _draw_figure


def _draw_figure(figure: FigureCheck, inside: Html, *place: int) -> Html:
    sign = h.span("sign", aria_hidden="true")[_SIGN]
    return h.span(f"figure {figure.state}", title=words.sentence(figure_sentence(figure)))[inside, sign]
