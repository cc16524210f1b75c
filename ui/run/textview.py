"""A page of a document that has no look of its own, as text: a section, a slide, a sheet, with the cited words marked.

Its text is put together from the stored chunks, which cover every character of it: nothing hostile is parsed again for
a look, and marks fit whatever reader made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.core.types import Chunk, Citation, Strip
from crag.text.injection import detect_injection
from ui.components import html as h
from ui.components.html import Html
from ui.run.passage import apart

DRAWN = ("pdf", "image")
"""The kinds of documents that are shown as pictures of their pages."""
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "؟", "।")
_SECTION = "section "

Span = tuple[int, int]


def cited_span(chunk: Chunk, citation: Citation, strips: Sequence[Strip]) -> Span:
    """Where on its page the words of a citation stand: its quote, else the strip that it is of, else all the chunk."""
    start, end = next(((each.start, each.end) for each in strips if each.id == citation.strip_id), (0, len(chunk.text)))
    at = chunk.text.find(citation.quote, start) if citation.quote else -1
    if at >= 0:
        start, end = at, at + len(citation.quote)
    return chunk.start + start, chunk.start + end


def leaf(chunks: Sequence[Chunk], cited: Sequence[Span], short: Span | None = None) -> Html:
    """One page's text; `chunks` are those of the page. The `cited` spans are marked, and in them the words `short`.

    What speaks to a language model is marked.
    """
    ordered = sorted(chunks, key=lambda chunk: chunk.start)
    if not ordered:
        return h.p("quiet")["There is no text in this part."]
    text, first = _text(ordered), ordered[0].start
    headings = {each.place.removeprefix(_SECTION) for each in ordered if each.place.startswith(_SECTION)}
    tables = [(each.start, each.end) for each in ordered if each.kind == "table"]
    marks = _Marks(text, first, sorted(cited), short)
    lines = []
    start = first
    for line in text.split("\n"):
        end = start + len(line)
        row = any(begin <= start and end <= stop for begin, stop in tables)
        kind = "row" if row else "heading" if line in headings else "line"
        if line.strip():
            lines.append(h.div(kind, dir="auto")[list(marks.within(start, end))])
        start = end + 1
    return h.div("leaf")[lines]


def _text(ordered: Sequence[Chunk]) -> str:
    """The page's text from its first chunk on. Between two chunks stood white space, whose kind the text shows."""
    parts, end = [ordered[0].text], ordered[0].end
    before = ordered[0]
    for chunk in ordered[1:]:
        gap = chunk.start - end
        flows = gap == 1 and before.kind == chunk.kind == "text" and before.text.endswith(_ENDS)
        parts.append((" " if flows else "\n") * max(0, gap))
        parts.append(chunk.text[max(0, -gap) :])
        before, end = chunk, max(end, chunk.end)
    return "".join(parts)


class _Marks:
    """Cuts lines of a text where marks begin and end; the first mark says so, for the page to be scrolled there."""

    def __init__(self, text: str, first: int, cited: Sequence[Span], short: Span | None) -> None:
        self._text, self._first, self._cited, self._short = text, first, cited, short
        self._spoken = detect_injection(text)
        self._marked = False

    def within(self, start: int, end: int) -> Iterator[object]:
        at = start
        for begin, stop in self._cited:
            begin, stop = max(begin, at), min(stop, end)
            if begin >= stop:
                continue
            yield self._piece(at, begin)
            yield h.mark("cited", data_first=None if self._marked else "1")[list(self._answer(begin, stop))]
            self._marked = True
            at = stop
        yield self._piece(at, end)

    def _answer(self, start: int, end: int) -> Iterator[object]:
        """Words that are cited, those of the short answer apart from the rest."""
        begin, stop = (max(start, self._short[0]), min(end, self._short[1])) if self._short else (end, end)
        if begin >= stop:
            yield self._piece(start, end)
            return
        yield self._piece(start, begin)
        yield h.span("answering")[self._piece(begin, stop)]
        yield self._piece(stop, end)

    def _piece(self, start: int, end: int) -> Html:
        return apart(self._text, start - self._first, end - self._first, self._spoken)
