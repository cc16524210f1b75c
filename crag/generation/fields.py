"""The field of a form that a question names: the row whose whole label the question says. Pure.

A form's labels are words that its author chose to be asked by. A row is the one only where the question says every
word of its label, where little else is asked for, and where its document has the rest of the question's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from crag.core.tables import Row, Table
from crag.core.types import Chunk
from crag.text.words import FUNCTION_WORDS, stem, words

MOST_CHARACTERS = 2_000

_ASKS_MORE = re.compile(
    r"\b(?:why|how (?!much|many|old|long|large|big|high|far)\w+|compare|difference)\b", re.IGNORECASE
)
_ASIDE = re.compile(r"\(([^()]*)\)")
_PLURAL = re.compile(r"\(e?s\)")
_FUNCTION = frozenset(map(stem, FUNCTION_WORDS)) | {"s"}
_SILENT = _FUNCTION | frozenset(
    stem(word)
    for word in """give given gives show shown say says said state stated list listed tell find mention mentioned call
    called name named please according report reported document form file record recorded value entry field""".split()
)
"""Stems of a question that ask and name nothing."""


@dataclass(frozen=True, slots=True)
class Field:
    """A row of a form, where it stands."""

    chunk: Chunk
    table: Table
    row: Row
    label: str

    @property
    def span(self) -> tuple[int, int]:
        """The characters of its value in the chunk's text; none of an empty field."""
        return self.row.cells[0][1:] if self.row.cells else (self.row.end, self.row.end)

    @property
    def value(self) -> str:
        start, end = self.span
        return " ".join(self.chunk.text[start:end].split())


@dataclass(frozen=True, slots=True)
class _Label:
    """The stems that a question must say, one of each group, and those that it may: what stands in brackets."""

    groups: tuple[frozenset[str], ...]
    aside: frozenset[str]


def find_field(question: str, chunks: Sequence[Chunk]) -> Field | None:
    """The field that the question names best; None where none is named, or several that differ are named alike."""
    fields = [*_fields(chunks)]
    if not fields or _ASKS_MORE.search(question[:MOST_CHARACTERS]):
        return None
    asked = _stems(question[:MOST_CHARACTERS]) - _FUNCTION
    said: dict[str, frozenset[str]] = {}
    titles: dict[str, frozenset[str]] = {}
    for chunk in chunks:
        document = chunk.document_id
        said[document] = said.get(document, frozenset()) | _stems(f"{chunk.context}\n{chunk.text}")
        titles[document] = _stems(f"{chunk.title}\n{chunk.source}")
    best: list[tuple[tuple[int, int, int], Field]] = []
    for field in fields:
        label = _label_of(field.label)
        covered = _covered(label, asked)
        rest = asked - covered - _SILENT
        own = field.chunk.document_id
        beside = rest - titles[own] - _stems(field.chunk.context)
        elsewhere = any(beside & title for document, title in titles.items() if document != own)
        if len(covered) > len(beside) and beside <= said[own] and not elsewhere:
            best.append(((-len(covered), len(beside), len(label.aside - asked)), field))
    if not best:
        return None
    least = min(rank for rank, _ in best)
    nearest = [field for rank, field in best if rank == least]
    return nearest[0] if len({field.value.casefold() for field in nearest}) == 1 else None


def _fields(chunks: Sequence[Chunk]) -> Iterator[Field]:
    for chunk in chunks:
        for table in chunk.tables:
            for row in table.rows if table.is_form(chunk.text) else ():
                if len(row.cells) <= 1:
                    yield Field(chunk, table, row, " ".join(chunk.text[row.start : row.label].split()).rstrip(": "))


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, words(text)))


@lru_cache(maxsize=4_096)
def _label_of(label: str) -> _Label:
    """What of a label a question must say. "Length/Width" is either, "Rating(s)" a plural."""
    plain = _PLURAL.sub("", label)
    aside = frozenset(stem(word) for part in _ASIDE.findall(plain) for word in words(part))
    groups = [_stems(each.replace("/", " ")) for each in _ASIDE.sub(" ", plain).split()]
    return _Label(tuple(filter(None, (group - _FUNCTION for group in groups))), aside)


def _covered(label: _Label, asked: frozenset[str]) -> frozenset[str]:
    """The words of the question that the label says; none where it misses one of the label's."""
    if not label.groups or not all(group & asked for group in label.groups):
        return frozenset()
    return (frozenset[str]().union(*label.groups) | label.aside) & asked
