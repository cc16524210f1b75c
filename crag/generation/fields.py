"""The field that a question names: the row of a form, or a line "label: value", whose whole label it says. Pure.

Labels are words that an author chose to be asked by. A row is the one only where the question says every word of its
label, where little else is asked for, and where its document has the rest of the question's words. Outside a form,
nothing else may be asked for: the rest of the question names the document, or the line that heads the list ("Director"
over "Daily limit: $75,000").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crag.core.tables import BESIDE, Cell, Row, Table
from crag.core.types import Chunk
from crag.generation.lists import LABELLED, VALUED, head_lines, lines_of
from crag.text.dates import dates_in
from crag.text.memory import remember
from crag.text.sentences import ITEM
from crag.text.words import FUNCTION_WORDS, stem, words

MOST_CHARACTERS = 2_000

_ASKS_MORE = re.compile(
    r"\b(?:why|how (?!much|many|old|long|large|big|high|far)\w+|compare|difference)\b", re.IGNORECASE
)
_MOST_LABEL, _MOST_VALUE = 6, 14
"""Words of each: more of them are a sentence."""
_NUMBER = re.compile(r"\b(?:no|nr|num)\b\.?|#|№", re.IGNORECASE)
_ASIDE = re.compile(r"\(([^()]*)\)")
_PLURAL = re.compile(r"\(e?s\)")
_FUNCTION = frozenset(map(stem, FUNCTION_WORDS)) | {"s"}
_SILENT = _FUNCTION | frozenset(
    stem(word)
    for word in """give given gives show shown say says said state stated list listed tell find mention mentioned call
    called name named please according report reported document form file record recorded value entry field must shall
    should""".split()
)
"""Stems of a question that ask and name nothing."""
_KINDS = frozenset(
    stem(word) for word in "invoice receipt bill voucher letter statement order booking contract sheet page".split()
)
"""Stems that name a document by its kind, which it need not say itself."""
_DATE = frozenset({stem("date")})
"""What a value that is a date need not be called, and what "when" asks for."""
_WHEN = re.compile(r"\s*when\b", re.IGNORECASE)
_HAPPENS = frozenset(map(stem, "achieve achieved reach reached happen happens occur occurs take place planned".split()))
"""What a question of "when" may say of an event whose label is its name alone."""
_ASIDES = re.compile(r"\s[-–—]{1,3}\s|[:()]")
"""Between what names a list and what explains it: "SEV 3 - Minor"."""
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Field:
    """A row of a form, or a line of a label and a value, where it stands; `under` is the line that heads its list."""

    chunk: Chunk
    table: Table
    row: Row
    label: str
    under: str = ""

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
    """The field of a form that the question names best; None of none, or of several that differ and are named alike."""
    return _named_best(question, chunks, [field for chunk in chunks for field in _form_fields(chunk)])


def find_line(question: str, chunks: Sequence[Chunk]) -> Field | None:
    """The same of lines of a label and its value outside forms; the question may ask for nothing else."""
    return _named_best(question, chunks, [field for chunk in chunks for field in _lines(chunk)], alone=True)


def _named_best(
    question: str, chunks: Sequence[Chunk], fields: Sequence[Field], *, alone: bool = False
) -> Field | None:
    if not fields or _ASKS_MORE.search(question[:MOST_CHARACTERS]):
        return None
    asked = _stems(_NUMBER.sub(" number ", question[:MOST_CHARACTERS])) - _FUNCTION
    asked |= _DATE if _WHEN.match(question) else _NONE
    dated = _DATE | (_HAPPENS if _WHEN.match(question) else _NONE)
    named = [(field, covered) for field in fields if (covered := _covered(_label_of(field.label), asked))]
    if not named:
        return None
    said: dict[str, frozenset[str]] = {}
    titles: dict[str, frozenset[str]] = {}
    for chunk in chunks:
        document = chunk.document_id
        said[document] = said.get(document, _NONE) | _stems(f"{chunk.context}\n{chunk.text}")
        titles[document] = _stems(f"{chunk.title}\n{chunk.source}")
    best: list[tuple[tuple[int, int, int], Field]] = []
    for field, label in named:
        heading = _heading_named(field.under, asked)
        covered = label | heading
        rest = asked - covered - _SILENT - _KINDS - (dated if dates_in(field.value) else _NONE)
        own = field.chunk.document_id
        beside = rest - titles[own] - _stems(field.chunk.context)
        elsewhere = any(beside & title for document, title in titles.items() if document != own)
        fits = not beside or ((bool(heading) or not alone) and len(covered) > len(beside) and beside <= said[own])
        if fits and not elsewhere:
            kept = field if heading else replace(field, under="")
            best.append(((-len(covered), len(beside), len(_label_of(field.label).aside - asked)), kept))
    if not best:
        return None
    least = min(rank for rank, _ in best)
    nearest = [field for rank, field in best if rank == least]
    return nearest[0] if len({field.value.casefold() for field in nearest}) == 1 else None


def _form_fields(chunk: Chunk) -> Iterator[Field]:
    forms = [table for table in chunk.tables if table.is_form(chunk.text)]
    heads = head_lines(chunk.text) if forms else {}
    for table in forms:
        for row in table.rows:
            if len(row.cells) <= 1:
                label = " ".join(chunk.text[row.start : row.label].split()).rstrip(": ")
                yield Field(chunk, table, row, label, heads.get(row.start, ""))


def _lines(chunk: Chunk) -> Iterator[Field]:
    """The lines of a label and one value that stand in no form, nor in a table with several columns or named ones."""
    taken = [
        (row.start, row.end)
        for table in chunk.tables
        for row in table.rows
        if len(row.cells) > 1 or any(table.header) or table.is_form(chunk.text)
    ]
    heads = head_lines(chunk.text)
    for start, end in lines_of(chunk.text):
        bullet = ITEM.match(chunk.text, start, end)
        line = chunk.text[bullet.end() if bullet else start : end].lstrip()
        found = LABELLED.fullmatch(line) or (VALUED.fullmatch(line) if bullet else None)
        if found and not any(first < end and start < last for first, last in taken):
            label, value = found[1].strip(), found[2].strip()
            if len(label.split()) <= _MOST_LABEL and len(value.split()) <= _MOST_VALUE:
                named = chunk.text.index(label, bullet.end() if bullet else start)
                at = chunk.text.index(value, named + len(label))
                row = Row(named, at + len(value), named + len(label), (Cell(BESIDE, at, at + len(value)),))
                yield Field(chunk, Table(start=start, end=end, rows=(row,)), row, label, heads.get(start, ""))


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, words(text)))


@remember(4_096)
def _label_of(label: str) -> _Label:
    """What of a label a question must say. "Length/Width" is either, "Rating(s)" a plural."""
    plain = _NUMBER.sub(" number ", _PLURAL.sub("", label))
    aside = frozenset(stem(word) for part in _ASIDE.findall(plain) for word in words(part))
    groups = [_stems(each.replace("/", " ")) for each in _ASIDE.sub(" ", plain).split()]
    return _Label(tuple(filter(None, (group - _FUNCTION for group in groups))), aside)


def _heading_named(heading: str, asked: frozenset[str]) -> frozenset[str]:
    """The words of the question that the line over a list says; none where it misses one, but for what explains it."""
    parts = filter(None, map(str.strip, _ASIDES.split(heading)))
    return frozenset[str]().union(*(_covered(_label_of(part), asked) for part in parts))


def _covered(label: _Label, asked: frozenset[str]) -> frozenset[str]:
    """The words of the question that the label says; none where it misses one of the label's."""
    if not label.groups or not all(group & asked for group in label.groups):
        return frozenset()
    return (frozenset[str]().union(*label.groups) | label.aside) & asked
