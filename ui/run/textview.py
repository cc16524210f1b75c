"""A page of a document that has no look of its own, as text: a section, a slide, a sheet, with the cited words marked.

Its text is put together from the stored chunks, which cover every character of it: nothing hostile is parsed again for
a look, and marks fit whatever reader made them.
"""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.types import Chunk, Citation, Strip
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.passage import annotate, short_layer, spoken_layer
from crag.text.injection import detect_injection

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
    marks = [(begin - first, stop - first, None) for begin, stop in sorted(cited)]
    answering = (short[0] - first, short[1] - first) if short else None
    before: list[int] = []  # the first mark says that it is, for the page to be scrolled there

    def drawn(_: None, inside: Html, begin: int, stop: int) -> Html:
        before.append(begin)
        return h.mark("cited", data_first="1" if len(before) == 1 else None)[inside]

    layers = (marks, drawn), short_layer(answering), spoken_layer(text, detect_injection(text))
    lines = []
    start = first
    for line in text.split("\n"):
        end = start + len(line)
        row = any(begin <= start and end <= stop for begin, stop in tables)
        kind = "row" if row else "heading" if line in headings else "line"
        if line.strip():
            lines.append(h.div(kind, dir="auto")[annotate(text, start - first, end - first, *layers)])
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
