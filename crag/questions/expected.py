"""What is known of a question beforehand: its labels, and which chunks they speak of. Pure."""

from __future__ import annotations

import re
from typing import Literal, Protocol

from crag.core.types import Chunk, WebPage
from crag.questions.adapters import UNANSWERABLE
from crag.questions.matching import checkable

__all__ = ["Expected", "Label", "chunk_place", "files_of", "is_expected", "label_of", "name_of", "on_web", "pages_of"]

Label = Literal["unanswerable", "page", "answer", "source"]
"""What a retrieval was judged by."""


class Expected(Protocol):
    """A question and what is known of it beforehand; all but the first two may be empty.

    `sources` are names of files in the library, or addresses of pages on the web (see `on_web`); `pages` count from 1,
    and say something only with one file: of several, nobody knows whose they are. The label "unanswerable" says that
    the library does not answer it.
    """

    @property
    def id(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def sources(self) -> tuple[str, ...]: ...
    @property
    def pages(self) -> tuple[int, ...]: ...
    @property
    def topics(self) -> tuple[str, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...


def label_of(expected: Expected) -> Label | None:
    """The finest label; a page counts as finer than an answer, which any page may hold by chance."""
    if UNANSWERABLE in expected.labels:
        return "unanswerable"
    if pages_of(expected):
        return "page"
    if checkable(expected.answers):
        return "answer"
    return "source" if expected.sources else None


def pages_of(expected: Expected) -> frozenset[tuple[str, int]]:
    """The expected pages with their sources; none where it isn't told whose they are."""
    names = files_of(expected)
    return frozenset((name, page) for name in names for page in expected.pages) if len(names) == 1 else frozenset()


def files_of(expected: Expected) -> frozenset[str]:
    """The names of the expected sources that may lie in the library: all but those on the web."""
    return frozenset(name_of(source) for source in expected.sources if not on_web(source))


def on_web(source: str) -> bool:
    """Whether an expected source is a page on the web, by its form: an address, but not a PDF's, which may be kept."""
    plain = source.strip().casefold()
    return plain.startswith(("http://", "https://", "folder:")) and not plain.endswith(".pdf")


def is_expected(found: Chunk | WebPage, expected: Expected) -> bool:
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
