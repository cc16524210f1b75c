"""Where kept strips give different values for the same thing: two statements in the same words but for one figure.

A statement is a sentence, or a cell of a table with its row and column. A false alarm costs more than one that is
missed, so that two are of the same thing only where nothing tells them apart: whose they are, what is measured, when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from crag.core.metadata import days_in
from crag.core.types import Answer, Chunk, Citation, Disagreement, Reported, Strip, WebPage
from crag.generation.citations import build_citation, quotable
from crag.text.dates import Day, dates_in
from crag.text.names import GENERIC, names_in, tokens_of
from crag.text.numerals import Number, numbers_in, scales_in
from crag.text.sentences import sentences
from crag.text.words import STOP_WORDS, stem, words

MOST_STRIPS = 200
MOST_STATEMENTS = 400
"""Of the kept strips, the first ones."""
LONGEST = 400
"""Characters of a sentence that is compared."""
MOST_SHOWN = 3
"""Disagreements of one answer."""
ALIKE = 0.8
"""The share of words that two sentences have in common where they say the same."""
LEAST_WORDS = 3
"""Words that say something, of a sentence that is compared."""
NEAR = 0.1
"""The share by which two cells may differ: beyond it, the same labels head another table."""
SUBJECT = 90
"""Characters of what a disagreement is called by."""

Sources = Mapping[str, Chunk | WebPage]

_VAGUE = re.compile(
    r"^(?:this|these|that|those|such|it|its|they|their|we|our|he|she|his|her)\b"
    r"|\b(?:prior|previous|last|this|next|same|current|comparable|preceding|first|second|third|fourth)\s(?:\w+\s)?"
    r"(?:years?|quarters?|periods?|months?|half|week)\b|\b(?:respectively|ago|now|today)\b"
    r"|\b(?:more|less|fewer|most|least|between|from|up to|example|such as|if|may|might|could|would)\b",
    re.IGNORECASE,
)
"""It leaves open of whom or when it speaks, or how much."""
_ONCE = re.compile(
    r"\b(?:born|died|founded|established|opened|built|completed|launched|released|incorporated|created|signed|began"
    r"|started|ended|closed|discovered|invented|published|acquired|merged)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:increas|decreas|grew|grow|r[io]s|fell|fall|declin|improv|chang|higher|lower|rais|reduc)", re.IGNORECASE
)
"""It is of some time, which a sentence that names none leaves to its document."""
_POINTED = re.compile(
    r"\b(?:notes?|pages?|items?|sections?|tables?|figures?|chapters?|parts?|no\.?)\s?$", re.IGNORECASE
)
"""What stands before a number that says where something else is found."""

_Figure = Number | Day


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence or cell with what tells it from others: its words, names and figures. `label`: that of a cell."""

    strip: Strip
    text: str
    stems: frozenset[str]
    names: frozenset[str]
    days: tuple[Day, ...]
    numbers: tuple[Number, ...]
    label: str = ""
    scale: str = ""

    def value(self, figure: _Figure) -> str:
        said = " ".join(figure.text.split())
        own = isinstance(figure, Day) or figure.scaled or figure.unit == "%"
        return said if own or not self.scale else f"{said} {self.scale}"

    def without(self, figure: _Figure) -> str:
        """What it speaks of: the cell's label, or the sentence with a gap for the figure, cut to what names it."""
        said = self.label or f"{self.text[: figure.start].rstrip()} … {self.text[figure.end :].lstrip()}".rstrip(" .")
        return said if len(said) <= SUBJECT else f"{said[:SUBJECT].rpartition(' ')[0]} …"


def with_disagreements(answer: Answer, knowledge: Sequence[Strip], sources: Sources) -> Answer:
    """The answer with what the strips that it rests on do not agree about, each value with a citation.

    A strip that the answer doesn't cite yet gets a number after those that are there.
    """
    found: dict[str, dict[str, _Statement]] = {}
    statements = [
        each for strip in knowledge[:MOST_STRIPS] for each in _statements(strip, sources.get(strip.source_id))
    ]
    for one, other in combinations(statements[:MOST_STATEMENTS], 2):
        if (figures := _difference(one, other, sources)) is not None:
            left, right = figures
            values = found.setdefault(one.without(left), {one.value(left): one})
            values.setdefault(other.value(right), other)
    if not found:
        return answer
    citations = list(answer.citations)
    shown = [
        Disagreement(
            subject=quotable(subject),
            values=tuple(
                Reported(
                    value=quotable(value),
                    citation=_citation_number(each.strip, citations, sources),
                    dated=_source_date(sources.get(each.strip.source_id)),
                )
                for value, each in values.items()
            ),
        )
        for subject, values in [*found.items()][:MOST_SHOWN]
    ]
    return replace(answer, citations=tuple(citations), disagreements=tuple(shown))


def _citation_number(strip: Strip, citations: list[Citation], sources: Sources) -> int:
    """The number of the strip's citation, which is made where there is none."""
    number = next((each.number for each in citations if each.strip_id == strip.id), 0)
    if not number:
        number = max((each.number for each in citations), default=0) + 1
        citations.append(build_citation(number, strip, sources.get(strip.source_id), 0, len(strip.text)))
    return number


def _source_date(source: Chunk | WebPage | None) -> str:
    """The date of a document or page, as exact as it is known; when it was added says nothing of its age."""
    said = (source.dated if isinstance(source, Chunk) else source.published or "") if source else ""
    return next((said[:size] for size in (10, 7, 4) if days_in(said[:size])), "")


def _document(source: Chunk | WebPage | None) -> str:
    return source.document_id if isinstance(source, Chunk) else source.id if source else ""


def _same_subject(here: Chunk | WebPage | None, there: Chunk | WebPage | None) -> bool:
    """Whether the titles of two documents name the same: the names of one are among those of the other."""
    one, other = (
        {token for token in tokens_of(source.title if source else "") if len(token) > 1 and not token.isdigit()}
        - GENERIC
        - STOP_WORDS
        for source in (here, there)
    )
    return bool(one and other) and (one <= other or other <= one)


def _statements(strip: Strip, source: Chunk | WebPage | None) -> Iterator[_Statement]:
    if isinstance(source, Chunk):
        yield from _cells(strip, source)
    for start, end in sentences(strip.text):
        text = " ".join(strip.text[start : min(end, start + LONGEST + 1)].split())
        if len(text) > LONGEST or not text.endswith((".", "!", ".”", '."')) or _VAGUE.search(text):
            continue
        days = tuple(dates_in(text))
        numbers = tuple(numbers_in(text, [(day.start, day.end) for day in days]))
        said = _stems(text)
        if (days or numbers) and len(said) >= LEAST_WORDS:
            names = frozenset(part for name in names_in(text) for part in name.parts)
            yield _Statement(strip, text, said, names, days, numbers)


def _cells(strip: Strip, source: Chunk) -> Iterator[_Statement]:
    """The cells of a strip's rows, "label: header value; header value", whose header names a time."""
    around = source.context.removeprefix(source.title)
    for line in strip.text.split("\n"):
        label, parted, cells = line.partition(": ")
        for cell in cells.split("; ") if parted and _stems(label) else ():
            days = tuple(dates_in(cell))
            numbers = numbers_in(cell, [(day.start, day.end) for day in days])
            if days and len(numbers) == 1 and numbers[0].values and days[-1].end <= numbers[0].start:
                header = cell[: numbers[0].start].strip(" $€£¥(-−")
                said = _stems(f"{label} {header} {around}")
                scale = next(iter([*scales_in(around), *scales_in(source.text)]), "")
                yield _Statement(
                    strip, cell, said, frozenset(), days, tuple(numbers), f"{label.strip()}, {header}", scale
                )


def _difference(one: _Statement, other: _Statement, sources: Sources) -> tuple[_Figure, _Figure] | None:
    """The one figure in which two statements of the same thing differ; None where they speak of different ones."""
    shape = (bool(one.label), len(one.days), len(one.numbers), one.names)
    if shape != (bool(other.label), len(other.days), len(other.numbers), other.names):
        return None
    here, there = sources.get(one.strip.source_id), sources.get(other.strip.source_id)
    within = _document(here) == _document(there)
    if one.strip.source_id == other.strip.source_id or (within and not one.names):
        return None
    if len(one.stems & other.stems) < (1.0 if one.label else ALIKE) * len(one.stems | other.stems):
        return None
    if not one.names and not _same_subject(here, there):
        return None
    days = [(a, b) for a, b in zip(one.days, other.days, strict=True) if not set(a.readings) & set(b.readings)]
    numbers = [(a, b) for a, b in zip(one.numbers, other.numbers, strict=True) if _differ(a, b)]
    if len(days) == 1 and not one.numbers and len(one.days) == 1:
        return days[0] if _ONCE.search(one.text) and _ONCE.search(other.text) else None
    if days or len(numbers) != 1 or (not one.days and _CHANGE.search(f"{one.text} {other.text}")):
        return None
    left, right = numbers[0]
    if one.label:
        near = abs(left.values[0] - right.values[0]) <= NEAR * max(left.values[0], right.values[0])
        return (left, right) if near else None
    same = one.text[left.end : left.end + 12].split()[:1] == other.text[right.end : right.end + 12].split()[:1]
    return (left, right) if same and not _POINTED.search(one.text[: left.start]) else None


def _differ(left: Number, right: Number) -> bool:
    """Whether two values can't be the same one: neither as written nor rounded, whatever they are counted in."""
    if not left.values or not right.values or left.kind != right.kind or left.unit != right.unit:
        return False
    step = max(left.steps[0] / (left.values[0] or 1), right.steps[0] / (right.values[0] or 1))
    return not any(
        abs(a * scale - b) <= step * max(abs(b), abs(a * scale)) * 0.51
        for a in left.values
        for b in right.values
        for scale in (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS and not any(map(str.isdigit, word)))
