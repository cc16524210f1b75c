"""The values a run is made of: documents, chunks, grades, strips, web pages, answers. All frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from crag.text.amounts import amountless, without_amounts

__all__ = [
    "INDEXED_AS",
    "Action",
    "Aggregation",
    "Answer",
    "Chunk",
    "Citation",
    "Decision",
    "Document",
    "Grade",
    "Kept",
    "LineBox",
    "Origin",
    "Passage",
    "Rect",
    "RetrievedChunk",
    "SentenceCheck",
    "ShortAnswer",
    "SpanReading",
    "Step",
    "Strip",
    "Unread",
    "WebPage",
]


class Action(StrEnum):
    """What the retrieval evaluator's scores lead to (paper §4.3)."""

    CORRECT = "CORRECT"
    AMBIGUOUS = "AMBIGUOUS"
    INCORRECT = "INCORRECT"


class Aggregation(StrEnum):
    """How the verdicts on single chunks become one action."""

    ANY = "any"
    WORST = "worst"
    MEAN = "mean"
    JOINT = "joint"


INDEXED_AS = "headings-amountless-1"
"""Names what `Chunk.indexed_text` makes of a chunk: vectors of texts made another way never mix."""

Origin = Literal["internal", "external"]
"""internal: from the library. external: from the web. Never mixed without a mark."""

Step = Literal["retrieve", "evaluate", "act", "refine", "rewrite", "search", "answer", "verify"]


Kept = Literal["", "score", "selected", "unscored", "deciding", "context", "neighbour", "whole"]
"""Why a strip is kept. score: it is among the best. selected: a language model named it. unscored: nothing of its
source could be scored. deciding: it is of the best chunk's best passage. context: it heads a table of which a row is
kept. neighbour: a kept sentence can't be understood without it. whole: its text is taken as it is."""


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
    """Where the characters [start, end) of a text lie on the page."""

    start: int
    end: int
    rect: Rect


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of the library. Its identity is its content: `id` is the SHA-256 of its bytes, in hex.

    `path`: the file on this machine that it was read from, where that is known, and `modified` when that file was
    changed last before (nanoseconds since the epoch).
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The retrieved unit: a span of one page of one document.

    `text` equals the page's text at [start, end). `page` counts from 1. `context` is what is indexed
    with the text though it stands elsewhere in the document: title, section heading, table header.
    `lines` hold offsets into `text`. `id` is stable for the same document and chunking.
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

    @property
    def indexed_text(self) -> str:
        """What is embedded: of prose, its heading and the text; of a table, its context and its words without amounts.

        Prose names its subject itself, and the title before every chunk makes all of them alike; a table doesn't.
        """
        if self.kind == "table":
            context, text = self.context, without_amounts(self.text)
        else:
            context, text = self.context.removeprefix(self.title).lstrip(" ›"), self.text
        return f"{context}\n{text}" if context else text

    def graded_text(self, limit: int = 0) -> str:
        """What an evaluator reads: the context, then the text (its first `limit` characters; 0: all of it).

        A chunk of a report seldom names its company and year; its title does. Of a table, the words without amounts.
        """
        text = self.text[:limit] if limit else self.text
        text = without_amounts(text) if self.kind == "table" else text
        return f"{self.context}\n{text}" if self.context else text

    def graded_spans(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where [start, end) spans of `text` stand in the whole `graded_text()`.

        Of a table, each line's words without amounts; a line of nothing but amounts is an empty span.
        """
        shift = len(self.context) + 1 if self.context else 0
        bare, lines = amountless(self.text) if self.kind == "table" else (self.text, [])
        if bare == self.text:
            return [(start + shift, end + shift) for start, end in spans]
        found = []
        for start, end in spans:
            told = [place for line, place in lines if line[0] < end and start < line[1] and place[0] < place[1]]
            found.append((told[0][0] + shift, told[-1][1] + shift) if told else (0, 0))
        return found

    def rects(self, start: int = 0, end: int | None = None) -> tuple[Rect, ...]:
        """The rectangles that the characters [start, end) of `text` cover; a line cut short is cut in proportion."""
        stop = len(self.text) if end is None else end
        found = []
        for line in self.lines:
            first, last = max(start, line.start), min(stop, line.end)
            if first >= last:
                continue
            box, size = line.rect, line.end - line.start
            width = box.right - box.left
            found.append(
                Rect(
                    page=box.page,
                    left=box.left + width * (first - line.start) / size,
                    top=box.top,
                    right=box.left + width * (last - line.start) / size,
                    bottom=box.bottom,
                )
            )
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedChunk:
    """A chunk with the retriever's own score. `similarity` is for ranking: never a relevance, never thresholded.

    `round`: which retrieval of the run brought it, from 0.
    """

    chunk: Chunk
    rank: int
    similarity: float
    dense: float | None = None
    bm25: float | None = None
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What an evaluator is asked about: a text and the id its grade will carry."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What an evaluator says of one passage: a calibrated score 0..1, or an explicit failure.

    Exactly one of `score` and `error` is set. `instead_of`: the evaluator that was to grade it, and `why` how that
    failed. Both `error` and `why` are sentences, or what is said of `who`, the id of a model. `failed_before`: so
    many times it had failed when it was given up for this run; 0 where it was asked.
    """

    passage_id: str
    score: float | None
    reason: str = ""
    evaluator: str = ""
    seconds: float = 0.0
    error: str | None = None
    cached: bool = False
    instead_of: str = ""
    why: str = ""
    who: str = ""
    failed_before: int = 0

    def __post_init__(self) -> None:
        if (self.score is None) == (self.error is None):
            raise ValueError("a grade has either a score or an error")
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score lies in 0..1, not {self.score}")

    @property
    def failed(self) -> bool:
        return self.score is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The action for a whole retrieval and what it rests on.

    `deciding_id` is the chunk whose score decided; None where no single chunk did (mean, joint, none graded).
    `score` is the value compared with the thresholds; None where nothing was graded.
    `unknown` counts failed grades. `instead_of`: what the scores say, where the action was forced. `doubt`: the
    margin within which the score lay below `lower`, where that made an INCORRECT AMBIGUOUS; else 0.
    """

    action: Action
    deciding_id: str | None
    score: float | None
    upper: float
    lower: float
    aggregation: Aggregation
    graded: int
    unknown: int = 0
    instead_of: Action | None = None
    doubt: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One or a few sentences of a chunk or web page, scored alone (paper §4.4).

    `source_id` is the chunk's or web page's id; [start, end) are offsets into that text. `selected` is what a
    language model said of it; None where none was asked, or failed. `why` it is kept, where it is, and that is known.
    """

    id: str
    source_id: str
    origin: Origin
    start: int
    end: int
    text: str
    score: float | None
    kept: bool
    selected: bool | None = None
    why: Kept = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """One web result: `text` is the page's main text, or the provider's snippet where there was no page."""

    id: str
    url: str
    title: str
    text: str
    provider: str
    query: str
    rank: int
    published: str | None = None
    fetched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """What is to be known of a web search: the page or file `name` was not read, and `why`; else that is a sentence."""

    why: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A numbered pointer from the answer to the text it rests on. `page` from 1, None for the web."""

    number: int
    strip_id: str
    source_id: str
    origin: Origin
    source: str
    quote: str
    page: int | None = None
    url: str | None = None
    rects: tuple[Rect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanReading:
    """Where in a text the likeliest answer stands, as [start, end), and how sure it is to be right, 0..1."""

    start: int
    end: int
    confidence: float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`text` holds citation marks like [1]. `by` names what wrote it: `extractive` or a model.

    An abstaining answer says so in `text` and cites nothing. `instead_of`: the model that was to write it. `short`:
    the words of a quoted sentence that answer, where that is sure enough. `unnamed`: what the question names and
    nothing that was found does.
    """

    text: str
    by: str
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    low_confidence: bool = False
    instead_of: str = ""
    short: ShortAnswer | None = None
    unnamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCheck:
    """Whether the cited strips support one sentence of the answer. `supported` None: not checkable.

    `note` says how that was found; `by`: the evaluator that scored. `why` it was not scored is a sentence, or what is
    said of `who`, the id of a model. `invented`: the numbers that stand for no cited text.
    """

    sentence: str
    citations: tuple[int, ...]
    supported: bool | None
    score: float | None = None
    note: Literal["", "no citation", "invented", "quoted", "scored", "not scored"] = ""
    by: str = ""
    why: str = ""
    who: str = ""
    invented: tuple[int, ...] = ()
