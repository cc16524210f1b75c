"""What helps a person on where there is no answer: what is near, what the library holds, what to ask instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a library, or the part of it that was asked, is about.

    `documents` counts all of them; `titles` are some, and `headings` the commonest of these, most common first.
    """

    documents: int
    titles: tuple[str, ...]
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A passage that came near: its chunk, where that is, the chunk's score 0..1 (None: not graded), a line of it."""

    chunk_id: str
    source: str
    where: str
    score: float | None
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A question that the library answers, made from the text `quote`, and the evaluator's score of that for it, 0..1.

    `made_of`: a sentence, a row of a table, or a section by its heading.
    """

    question: str
    made_of: Literal["sentence", "row", "section"]
    chunk_id: str
    source: str
    where: str
    quote: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """Beside an answer that there is none. `near`: best first. `query`: what a search of the web would be asked.

    `web`: whether a web provider is on.
    """

    about: About
    near: tuple[Near, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    query: str = ""
    web: bool = False
