"""One run as it is compared with others: what it found, what it used of it, cited and said. Pure."""

from __future__ import annotations

import re

from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Strip, WebPage
from crag.text.sentences import sentences

__all__ = ["Side", "citation_place"]

_HALF = 0.5
_MARKS_HERE = re.compile(r"(?:\s*+\[\d{1,3}\])+")
_MARKS = re.compile(rf"(?<!\s){_MARKS_HERE.pattern}")
"""Anywhere: from the first blank of a run on, so that a long run is looked at once."""


class Side:
    """What is compared of one run. Chunks are known by id, web pages by address."""

    def __init__(self, trace: Trace) -> None:
        here = trace.round
        self.trace = trace
        self.sources: dict[str, Chunk | WebPage] = (
            {found.chunk.id: found.chunk for found in here.chunks} if here else {}
        )
        self.sources.update({page.url: page for page in trace.pages})
        self.by_id = {source.id: key for key, source in self.sources.items()}
        self.kept = tuple(strip for strip in trace.kept() if strip.source_id in self.by_id)
        self.used = {self.by_id[strip.source_id] for strip in self.kept}
        self.spans: dict[str, list[tuple[int, int]]] = {}
        self.chosen: dict[str, list[tuple[int, int]]] = {}
        for strip in self.kept:
            self.spans.setdefault(strip.source_id, []).append((strip.start, strip.end))
            if not self.whole(strip):
                self.chosen.setdefault(strip.source_id, []).append((strip.start, strip.end))
        answer = trace.answer
        self.citations: tuple[Citation, ...] = answer.citations if answer else ()
        self.cited = {citation_place(citation) for citation in self.citations}
        self.said = {} if answer is None or answer.abstained else _sentences_of(answer.text)

    def state(self, key: str) -> str:
        """What became of a chunk or page."""
        return "used" if key in self.used else "not used" if key in self.sources else "not found"

    def keeps(self, strip: Strip, *, chosen: bool = False) -> bool:
        """Whether at least half of the strip's characters are kept here, however this run cut them.

        `chosen`: as part of a strip that was picked out of its source, not because the source was taken whole.
        """
        spans = (self.chosen if chosen else self.spans).get(strip.source_id, ())
        shared = sum(max(0, min(end, strip.end) - max(start, strip.start)) for start, end in spans)
        return shared >= _HALF * (strip.end - strip.start) and shared > 0

    def whole(self, strip: Strip) -> bool:
        """Whether it is all of its source, taken as it is: then what is said of the source says enough."""
        return strip.start == 0 and strip.end >= len(self.source(strip).text)

    def source(self, strip: Strip) -> Chunk | WebPage:
        """What a kept strip was cut from."""
        return self.sources[self.by_id[strip.source_id]]


def citation_place(citation: Citation) -> tuple[str, int | None]:
    """What a citation points to, coarsely: the page of a file, or the web page."""
    return (citation.url or citation.source, citation.page)


def _sentences_of(answer: str) -> dict[str, tuple[str, tuple[int, int]]]:
    """An answer's sentences by what they say, letter case and punctuation apart, with where they stand."""
    found: dict[str, tuple[str, tuple[int, int]]] = {}
    for start, end in sentences(answer):
        before, marks = _MARKS_HERE.match(answer, start, end), _MARKS_HERE.match(answer, end)
        start = before.end() if before else start  # those of the sentence before it
        start += len(answer[start:end]) - len(answer[start:end].lstrip())
        said = _MARKS.sub("", answer[start:end]).strip()
        key = " ".join(re.findall(r"\w+", said.casefold()))
        if key:
            found.setdefault(key, (said, (start, marks.end() if marks else end)))
    return found
