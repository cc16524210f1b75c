"""What is known of a question beforehand: its labels, and which chunks they speak of. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from crag.analysis.questions.adapters import UNANSWERABLE
from crag.analysis.questions.matching import asked_scale, checkable, holds
from crag.analysis.questions.sets import Question
from crag.core.types import Chunk, WebPage

Label = Literal["unanswerable", "page", "answer", "source"]
"""What a retrieval was judged by."""


def label_of(expected: Question) -> Label | None:
    """The finest label; a page counts as finer than an answer, which any page may hold by chance."""
    if UNANSWERABLE in expected.labels:
        return "unanswerable"
    if pages_of(expected):
        return "page"
    if checkable(expected.answers):
        return "answer"
    return "source" if expected.sources else None


def judge(expected: Question) -> Callable[[Chunk], bool | None]:
    """What says of a chunk whether it holds what is sought: None where no label tells.

    An expected page or an accepted answer in the chunk says yes; where neither is labelled, an expected source does.
    Nothing holds what is labelled unanswerable.
    """
    match label_of(expected):
        case None:
            return lambda chunk: None
        case "unanswerable":
            return lambda chunk: False
        case "source":
            return lambda chunk: is_expected(chunk, expected)
    places, scale, answers = pages_of(expected), asked_scale(expected.question), checkable(expected.answers)
    return lambda chunk: chunk_place(chunk) in places or holds(chunk.text, answers, scale=scale)


def pages_of(expected: Question) -> frozenset[tuple[str, int]]:
    """The expected pages with their sources; none where their sources are unknown."""
    names = files_of(expected)
    return frozenset((name, page) for name in names for page in expected.pages) if len(names) == 1 else frozenset()


def files_of(expected: Question) -> frozenset[str]:
    """The names of the expected sources that may lie in the library: all but those on the web."""
    return frozenset(name_of(source) for source in expected.sources if not on_web(source))


def on_web(source: str) -> bool:
    """Whether an expected source is a page on the web, by its form: an address, but not a PDF's, which may be kept."""
    plain = source.strip().casefold()
    return plain.startswith(("http://", "https://", "folder:")) and not plain.endswith(".pdf")


def is_expected(found: Chunk | WebPage, expected: Question) -> bool:
    """Whether a chunk is of an expected file, or a web page one of the expected addresses."""
    if isinstance(found, Chunk):
        return name_of(found.source) in files_of(expected)
    return _address(found.url) in {_address(source) for source in expected.sources if on_web(source)}


def _address(url: str) -> str:
    return url.strip().casefold().rstrip("/")


def chunk_place(chunk: Chunk) -> tuple[str, int]:
    return name_of(chunk.source), chunk.page


def name_of(source: str) -> str:
    """A file's name alone, without folders, case and ".pdf": question sets write it in all these ways."""
    return re.split(r"[/\\]", source.strip().casefold())[-1].removesuffix(".pdf")
