"""Where kept strips give different values for the same thing: rows of tables, and sentences that differ in one figure.

A false alarm costs more than one that is missed, so that things are the same only where nothing tells them apart: whose
they are, what is measured, and when.
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
from crag.text.numerals import Number, numbers_in
from crag.text.sentences import sentences
from crag.text.words import STOP_WORDS, stem, words

__all__ = ["with_disagreements"]

MOST_STRIPS = 200
MOST_SENTENCES = 150
MOST_ROWS = 600
"""Of the kept strips, the first ones."""
LONGEST = 400
"""Characters of a sentence that is compared."""
MOST_SHOWN = 3
"""Disagreements of one answer."""
ALIKE, ALIKE_HERE = 0.8, 0.9
"""The share of words that two sentences have in common where they say the same; and of two in one document."""
LEAST_WORDS = 3
"""Words that say something, of a sentence that is compared."""
NEAR = 0.1
"""The share by which two cells may differ that nothing but their labels shows to be of one row."""
SUBJECT = 90
"""Characters of what a disagreement is called by."""

Sources = Mapping[str, Chunk | WebPage]

_TITLE_WORDS = frozenset(
    "form fiscal year ended quarter quarterly annual report reports pdf page document index edition version release"
    " earnings results k q inc corp co the of and for home about".split()
)
_SCALE = re.compile(r"\b(?:in|of)\s(?:[\w.]{1,12}\s|[$€£¥]\s?){0,3}(thousand|million|billion)s\b", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\b(?:prior|previous|last|this|next|same|current|comparable|preceding|first|second|third|fourth)\s(?:\w+\s)?"
    r"(?:years?|quarters?|periods?|months?|halves|half|week)\b|\b(?:quarter|period|year-over-year|respectively|ago|now|today)\b",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:born|died|founded|established|opened|built|completed|launched|released|incorporated|created|signed|began"
    r"|started|ended|closed|discovered|invented|published|acquired|merged)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:increas|decreas|grew|grow|rose|rising|fell|fall|declin|improv|chang|higher|lower|rais|reduc)\w*",
    re.IGNORECASE,
)
"""It is of some time, which a sentence that names none leaves to its document."""
_POINTS = re.compile(r"(?:this|these|that|those|such|it|its|they|their|we|our|he|she|his|her)\b", re.IGNORECASE)
"""What a sentence begins with that says by what is before it what it speaks of."""
_POINTED = re.compile(
    r"\b(?:notes?|pages?|items?|sections?|tables?|figures?|chapters?|parts?|no\.?)\s?$", re.IGNORECASE
)
"""What stands before a number that says where something else is found."""
_OTHERWISE = re.compile(
    r"\b(?:more|less|fewer|most|least|between|from|up to|example|such as|if|may|might|could|would)\b", re.I
)


_Times = tuple[tuple[tuple[int, int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A value that a strip gives for a thing. `beside`: the other cells of its row, each by its time and value."""

    strip: Strip
    number: Number | Day
    scale: str
    beside: frozenset[tuple[_Times, float]] = frozenset()

    @property
    def text(self) -> str:
        own = isinstance(self.number, Day) or self.number.scaled or self.number.unit == "%"
        said = " ".join(self.number.text.split())
        return said if own or not self.scale else f"{said} {self.scale}"


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence with what tells it from others: its words, names and figures."""

    strip: Strip
    text: str
    stems: frozenset[str]
    names: frozenset[str]
    days: tuple[Day, ...]
    numbers: tuple[Number, ...]


_Thing = tuple[str, list[_Reading]]
"""What it is called, and the values that are given for it."""


def with_disagreements(answer: Answer, knowledge: Sequence[Strip], sources: Sources) -> Answer:
    """The answer with what the strips that it rests on do not agree about, each value with a citation.

    A strip that the answer doesn't cite yet gets a number after those that are there.
    """
    citations = list(answer.citations)
    found = []
    for subject, readings in _things(knowledge[:MOST_STRIPS], sources)[:MOST_SHOWN]:
        values = [
            Reported(
                value=quotable(each.text),
                citation=_citation_number(each.strip, citations, sources),
                dated=_source_date(sources.get(each.strip.source_id)),
            )
            for each in readings
        ]
        found.append(Disagreement(subject=quotable(subject), values=tuple(values)))
    return replace(answer, citations=tuple(citations), disagreements=tuple(found)) if found else answer


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


def _things(strips: Sequence[Strip], sources: Sources) -> list[_Thing]:
    return [*_of_rows(strips, sources), *_of_sentences(strips, sources)]


def _document(source: Chunk | WebPage | None) -> str:
    return source.document_id if isinstance(source, Chunk) else source.id if source else ""


def _subject(source: Chunk | WebPage | None) -> frozenset[str]:
    """The subject of a document: the words of its title that no other document's title has."""
    title = source.title if source else ""
    said = (token for token in tokens_of(title) if len(token) > 1 and not token.isdigit())
    return frozenset(token for token in said if token not in _TITLE_WORDS | GENERIC | STOP_WORDS)


def _same_subject(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other) and (one <= other or other <= one)


# Rows of tables


_Key = tuple[frozenset[str], frozenset[str], _Times, frozenset[str]]


def _of_rows(strips: Sequence[Strip], sources: Sources) -> list[_Thing]:
    """Cells of the same row and column, under the same heading, in tables of documents on the same subject."""
    cells: dict[_Key, list[tuple[str, _Reading]]] = {}
    count = 0
    for strip in strips:
        source = sources.get(strip.source_id)
        if not isinstance(source, Chunk):
            continue
        for key, subject, readings in _cells(strip, source):
            cells.setdefault(key, []).append((subject, readings))
            count += 1
            if count == MOST_ROWS:
                break
    found = []
    for group in cells.values():
        first = group[0][1]
        others = [
            readings
            for _, readings in group[1:]
            if _of_one_thing(first, readings, sources) and _differ(first, readings)
        ]
        if others:
            found.append((group[0][0][:SUBJECT], [first, *_distinct(others)]))
    return found


def _of_one_thing(one: _Reading, other: _Reading, sources: Sources) -> bool:
    """Whether two cells are of the same row of two documents' tables: of many tables the same labels are the rows.

    Then another cell of both rows is the same, or the two values are near each other.
    """
    here, there = sources.get(one.strip.source_id), sources.get(other.strip.source_id)
    if _document(here) == _document(there) or not _same_subject(_subject(here), _subject(there)):
        return False
    return bool(one.beside & other.beside) or _near(one.number, other.number)


def _near(one: Number | Day, other: Number | Day) -> bool:
    if isinstance(one, Day) or isinstance(other, Day):
        return False
    return abs(one.values[0] - other.values[0]) <= NEAR * max(one.values[0], other.values[0])


def _cells(strip: Strip, source: Chunk) -> Iterator[tuple[_Key, str, _Reading]]:
    """The cells of a strip's rows, "label: header value; header value", whose header names a time."""
    around = source.context.removeprefix(source.title)
    heading = _stems(around)
    found = _SCALE.search(around) or _SCALE.search(source.text)
    scale = found[1].lower() if found else ""
    for line in strip.text.split("\n"):
        label, parted, values = line.partition(": ")
        if not parted or not _stems(label):
            continue
        above = _stems(_heads(source.text, strip.start + strip.text.find(line)))
        cells = [cell for part in values.split("; ") if (cell := _cell(part)) is not None]
        for header, times, number in cells:
            beside = frozenset((each[1], each[2].values[0]) for each in cells if each[2] is not number)
            key = (_stems(label), heading | above, times, _stems(header))
            yield key, f"{label.strip()}, {header}", _Reading(strip, number, scale, beside)


def _cell(part: str) -> tuple[str, _Times, Number] | None:
    """The header, the times that it names, and the value of "2018 1,577"; None where one of them is not there."""
    numbers = numbers_in(part, [(day.start, day.end) for day in dates_in(part)])
    if not numbers or not numbers[-1].values or numbers[-1].end < len(part.rstrip(" )*%")):
        return None
    header = part[: numbers[-1].start].strip(" $€£¥(-−")
    days = dates_in(header)
    if not days or any(number.end < len(header) for number in numbers[:-1]):
        return None
    return header, tuple(day.readings for day in days), numbers[-1]


def _heads(text: str, at: int) -> str:
    """The line without values that heads the rows up to this place, if any."""
    for line in reversed(text[: max(0, at)].split("\n")[-12:]):
        if line.strip() and not re.search(r"\d", line):
            return line
    return ""


def _differ(one: _Reading, other: _Reading) -> bool:
    """Whether two values can't be the same one: neither as written nor rounded, whatever they are counted in."""
    left, right = one.number, other.number
    if isinstance(left, Day) or isinstance(right, Day):
        return isinstance(left, Day) and isinstance(right, Day) and not set(left.readings) & set(right.readings)
    if left.unit and right.unit and left.unit != right.unit:
        return False
    if (left.unit == "%") != (right.unit == "%") or left.kind == "code" or right.kind == "code":
        return False
    step = max(
        left.steps[0] / left.values[0] if left.values[0] else 0,
        right.steps[0] / right.values[0] if right.values[0] else 0,
    )
    for a in left.values:
        for b in right.values:
            for scale in (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9):
                if abs(a * scale - b) <= step * max(abs(b), abs(a * scale)) * 0.51:
                    return False
    return True


def _distinct(readings: Sequence[_Reading]) -> list[_Reading]:
    return list({each.text: each for each in reversed(readings)}.values())[::-1]


# Sentences


def _of_sentences(strips: Sequence[Strip], sources: Sources) -> list[_Thing]:
    """Sentences that say the same but for one figure."""
    statements = [each for strip in strips for each in _statements(strip)][:MOST_SENTENCES]
    found: dict[str, _Thing] = {}
    for one, other in combinations(statements, 2):
        if one.strip.source_id == other.strip.source_id or not _alike(one, other, sources):
            continue
        figures = _one_difference(one, other)
        if figures is not None:
            left, right = figures
            subject = _without(one.text, left)
            thing = found.setdefault(subject, (subject, [_Reading(one.strip, left, "")]))
            thing[1].append(_Reading(other.strip, right, ""))
    return [(subject, [readings[0], *_distinct(readings[1:])]) for subject, readings in found.values()]


def _statements(strip: Strip) -> Iterator[_Statement]:
    for start, end in sentences(strip.text):
        text = " ".join(strip.text[start : min(end, start + LONGEST + 1)].split())
        if len(text) > LONGEST or not text.endswith((".", "!", ".”", '."')) or text.count(";") > 1:
            continue
        days = tuple(dates_in(text))
        numbers = tuple(numbers_in(text, [(day.start, day.end) for day in days]))
        said = _stems(text)
        if (days or numbers) and len(said) >= LEAST_WORDS and not (_OTHERWISE.search(text) or _POINTS.match(text)):
            names = frozenset(part for name in names_in(text) for part in name.parts)
            yield _Statement(strip, text, said, names, days, numbers)


def _alike(one: _Statement, other: _Statement, sources: Sources) -> bool:
    """Whether two sentences speak of the same thing in the same words, as far as they show it."""
    if len(one.days) != len(other.days) or len(one.numbers) != len(other.numbers) or one.names != other.names:
        return False
    here, there = sources.get(one.strip.source_id), sources.get(other.strip.source_id)
    within = _document(here) == _document(there)
    if not within and not one.names and not _same_subject(_subject(here), _subject(there)):
        return False
    if within and not one.names:
        return False
    shared = len(one.stems & other.stems) / len(one.stems | other.stems)
    return shared >= (ALIKE_HERE if within else ALIKE)


def _one_difference(one: _Statement, other: _Statement) -> tuple[Number, Number] | tuple[Day, Day] | None:
    """The one figure in which they differ; None where that is none, more, or may well be another occasion."""
    days = [(a, b) for a, b in zip(one.days, other.days, strict=True) if not set(a.readings) & set(b.readings)]
    numbers = [
        (a, b)
        for a, b in zip(one.numbers, other.numbers, strict=True)
        if a.values and b.values and _differ(_Reading(one.strip, a, ""), _Reading(other.strip, b, ""))
    ]
    if len(days) == 1 and not numbers and len(one.days) == 1 and not one.numbers:
        return days[0] if _ONCE.search(one.text) and _ONCE.search(other.text) else None
    if days or len(numbers) != 1:
        return None
    if not one.days and any(each.search(text.text) for each in (_RELATIVE, _CHANGE) for text in (one, other)):
        return None
    left, right = numbers[0]
    if _POINTED.search(one.text[: left.start]) or _POINTED.search(other.text[: right.start]):
        return None
    same = one.text[left.end : left.end + 12].split()[:1] == other.text[right.end : right.end + 12].split()[:1]
    return (left, right) if same and left.kind == right.kind else None


def _without(text: str, figure: Number | Day) -> str:
    """The sentence with a gap for the figure, cut to what names it."""
    said = f"{text[: figure.start].rstrip()} … {text[figure.end :].lstrip()}".rstrip(" .")
    return said if len(said) <= SUBJECT else f"{said[:SUBJECT].rpartition(' ')[0]} …"


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS and not any(map(str.isdigit, word)))
