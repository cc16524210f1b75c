"""Whether every number, date and name of a sentence stands in what the sentence cites: by value, not as written."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crag.core.types import Chunk, FigureCheck, Strip, WebPage
from crag.text.dates import Day, dates_in
from crag.text.memory import remember
from crag.text.names import Name, Names, names_in, tokens_of
from crag.text.numerals import SCALES, Number, numbers_in, scales_in
from crag.text.words import FUNCTION_WORDS, stem, words

MOST_FIGURES = 200
"""Figures of one sentence that are looked at."""
MOST_CITED = 400_000
"""Characters of the cited texts that are looked at, all together."""
MOST_AROUND = 2_000
"""Characters of what is said of a strip outside it."""
SPOKEN = 10
"""Up to this a number in words may count what is listed, and is missing only where the text counts it otherwise."""
_ROUGH = 3
"""Up to this it is as often a way of speaking: "one of the two"."""

_HEDGE = re.compile(
    r"(?:\b(?:about|approximately|around|roughly|nearly|almost|over|(?:more|less|fewer|higher|lower)\sthan|above|below"
    r"|under|exceed(?:s|ed|ing)?|at\s(?:least|most)|up\sto|some|close\sto|an?\sestimated|approx\.?|circa|c\.)|[~≈<>])\s?$",
    re.IGNORECASE,
)
_CELLS = re.compile(r"; |\||\t|: [^\s:]{0,30}\d")
_LIST = re.compile(r"\s*\(?\d{1,2}[.)]\s")
_NEXT = re.compile(r"[\s-]([^\W\d_]{3,})(?:\s([^\W\d_]{3,}))?")
_HEDGE_SIZE = 24
_HEDGED = 0.25  # of a value that is given roughly
_EXACT = 1e-9


def check_figures(sentence: str, cited: Mapping[str, str]) -> tuple[FigureCheck, ...]:
    """Every number, date and name of the sentence in order, each with whether it stands in the cited texts.

    `cited` maps ids of strips to what they say. A value may be written otherwise: 1.2 billion and $1,200 million, 1,200
    where a table counts in millions, "twelve" and 12, 3 March 2018 and 2018-03-03; and rounded to the digits that are
    shown. What the sentence works out stands nowhere. Of a sentence with more than 200 figures the first 200 are looked
    at.
    """
    texts = _read_cited(tuple(cited.items()))
    days = dates_in(sentence)
    numbers = numbers_in(sentence, [(day.start, day.end) for day in days])
    found = _Sentence(sentence, texts).counted(days[:MOST_FIGURES], numbers[:MOST_FIGURES])
    taken = [(check.start, check.end) for check in found]
    for name in names_in(sentence)[:MOST_FIGURES]:
        if not any(start <= name.start and name.end <= end for start, end in taken):
            found.append(_check(name, "name", texts.named(name)))
    return tuple(sorted(found, key=lambda check: (check.start, check.end))[:MOST_FIGURES])


def in_context(strip: Strip, knowledge: Sequence[Strip], source: Chunk | WebPage | None) -> str:
    """What a strip says, with what is said of it outside: its document and headings, and what heads its table.

    A row is "Net sales: 2018 1,577"; whose sales they are, and that they are in millions, stands above it.
    """
    match source:
        case Chunk():
            around = [source.source, source.title, source.context]
        case WebPage():
            around = [source.title, source.published or ""]
        case None:
            around = []
    around += [each.text for each in knowledge if each.source_id == strip.source_id and each.why == "context"]
    return "\n".join([*(part[:MOST_AROUND] for part in dict.fromkeys(around) if part), strip.text])


def _check(figure: Number | Day | Name, kind: Literal["number", "date", "name"], strip: str | None) -> FigureCheck:
    return FigureCheck(
        start=figure.start,
        end=figure.end,
        text=figure.text,
        kind=kind,
        state="missing" if strip is None else "stands",
        strip_id=strip or "",
    )


class _Sentence:
    """A sentence whose dates and numbers are looked for in the texts that it cites."""

    def __init__(self, text: str, texts: _Cited) -> None:
        self._text, self._texts = text, texts

    def counted(self, days: Sequence[Day], numbers: Sequence[Number]) -> list[FigureCheck]:
        """The checks of the dates, then of the numbers."""
        checks = [_check(day, "date", self._texts.dated(day)) for day in days]
        for number in filter(self._counts, numbers):
            strip = self._texts.counted(number, self._hedged(number))
            if strip is not None or not self._spoken(number):
                checks.append(_check(number, "number", strip))
        return checks

    def _counts(self, number: Number) -> bool:
        """Whether a number is a figure: not one that opens a list's entry, nor an ordinal or a small one in words."""
        if number.kind == "words" and not number.scaled and number.values[0] <= _ROUGH:
            return False
        if number.kind == "ordinal" and not number.text[0].isdigit():
            return False
        if number.kind == "code" and sum(map(str.isdigit, number.text)) < 2:
            return False
        return not (number.start < 3 and _LIST.match(self._text))

    def _hedged(self, number: Number) -> bool:
        return _HEDGE.search(self._text, max(0, number.start - _HEDGE_SIZE), number.start) is not None

    def _spoken(self, number: Number) -> bool:
        """Whether a number in words may count what the text lists: nothing there counts the same thing otherwise."""
        if number.kind != "words" or number.values[0] > SPOKEN:
            return False
        return not self._texts.counts_otherwise(_counted_things(self._text, number))


@dataclass(frozen=True, slots=True)
class _Value:
    """A value that a cited text gives."""

    value: float
    unit: str
    strip: str


class _Cited:
    """The cited texts, read once: their values in order of size, their dates, codes and names."""

    def __init__(self, cited: Iterable[tuple[str, str]]) -> None:
        self._days: dict[tuple[int, int, int], str] = {}
        self._years: dict[int, str] = {}
        self._nths: dict[int, str] = {}
        self._codes: dict[str, str] = {}
        self._things: set[str] = set()
        self._texts: list[tuple[str, str]] = []
        self._names: list[tuple[str, Names]] | None = None
        self._squeezed = ""
        values: list[_Value] = []
        room = MOST_CITED
        for strip, whole in cited:
            text = whole[:room]
            room -= len(text)
            self._texts.append((strip, text))
            values += self._read(strip, text)
        unique = dict.fromkeys(sorted(values, key=lambda each: each.value))
        self._values = list(unique)
        self._sizes = [each.value for each in self._values]

    def _read(self, strip: str, text: str) -> list[_Value]:
        values: list[_Value] = []
        scales = tuple({SCALES[scale] for scale in scales_in(text)})
        for line in text.split("\n"):
            days, is_row = dates_in(line), _CELLS.search(line) is not None
            for day in days:
                self._days.update({reading: strip for reading in day.readings if reading not in self._days})
                self._years.update({year: strip for year in day.years if year not in self._years})
                self._nths.update({reading[2]: strip for reading in day.readings if reading[2] not in self._nths})
            for number in numbers_in(line, [(day.start, day.end) for day in days]):
                if not number.values:
                    self._codes.setdefault(_squeeze(number.text), strip)
                    continue
                values += _values(number, scales, is_row, strip)
                self._things |= _counted_things(line, number)
        return values

    def counts_otherwise(self, things: frozenset[str]) -> bool:
        """Whether any of these things is counted."""
        return not self._things.isdisjoint(things)

    def counted(self, number: Number, hedged: bool) -> str | None:
        """The id of a strip in which the number stands; None where it is in none."""
        if not number.values:
            return self._coded(number.text)
        for value, step in zip(number.values, number.steps, strict=False):
            if (strip := self._near(value, _tolerance(number, value, step, hedged), number.unit)) is not None:
                return strip
        whole = number.values[0]
        if number.kind == "ordinal":
            return self._nths.get(int(whole))
        return (
            self._years.get(int(whole)) if 1000 <= whole < 2100 and whole.is_integer() and not number.scaled else None
        )

    def _near(self, value: float, tolerance: float, unit: str) -> str | None:
        exact = abs(value) * _EXACT
        reach = max(tolerance, exact)
        at = bisect_left(self._sizes, value - reach)
        best: tuple[float, str] | None = None
        while at < len(self._sizes) and self._sizes[at] <= value + reach:
            each, at = self._values[at], at + 1
            far = abs(each.value - value)
            if not (each.unit and unit and each.unit != unit) and (best is None or far < best[0]):
                best = far, each.strip
                if far <= exact:
                    break
        return best[1] if best else None

    def _coded(self, text: str) -> str | None:
        wanted = _squeeze(text)
        if wanted in self._codes:
            return self._codes[wanted]
        if not self._squeezed:
            self._squeezed = _squeeze("\n".join(text for _, text in self._texts)) or " "
        return self._texts[0][0] if len(wanted) > 2 and wanted in self._squeezed else None

    def dated(self, day: Day) -> str | None:
        """The id of a strip that names the date, as exactly as it is named here; its year may stand apart from it."""
        if day.decade or day.century:
            return next((self._years[year] for year in day.years if year in self._years), None)
        for year, month, nth in day.readings:
            if not month:
                return self._years.get(year) or self._near(float(year), 0.0, "")
            if year and year not in self._years:
                continue
            for (other, its_month, its_day), strip in self._days.items():
                if its_month == month and nth in (0, its_day) and (not year or not other or other == year):
                    return strip
        return None

    def named(self, name: Name) -> str | None:
        """The id of a strip that holds the name; None where none does."""
        if self._names is None:
            self._names = [(strip, Names(text)) for strip, text in self._texts]
        return next((strip for strip, names in self._names if names.holds(name)), None)


@remember(16)
def _read_cited(texts: tuple[tuple[str, str], ...]) -> _Cited:
    """What the texts give; remembered, since the sentences of an answer cite the same ones."""
    return _Cited(texts)


def _values(number: Number, scales: tuple[float, ...], is_row: bool, strip: str) -> list[_Value]:
    """The values that a cited number may stand for: as written, and in a table as what that counts in.

    A table's amount of which nothing says what it is counted in may be so in any of them.
    """
    found = [_Value(value, number.unit, strip) for value in number.values]
    if number.scaled or number.unit == "%" or number.kind != "digits" or not is_row:
        return found
    own = number.values[0]
    meant = scales or ((1e3, 1e6, 1e9) if own >= 10 or number.steps[0] < 1 else ())
    return found + [_Value(own * each, number.unit, strip) for each in meant]


def _tolerance(number: Number, value: float, step: float, hedged: bool) -> float:
    """How far from the value what is cited may lie and still be what is shown, rounded."""
    if number.kind != "digits" or not value:
        return 0.0
    if hedged:
        while step < value and math.isclose(value / (10 * step), round(value / (10 * step)), abs_tol=1e-9):
            step *= 10
        return min(step, value * _HEDGED)
    return step / 2 * (1 + _EXACT) if number.unit or number.scaled or step < 1 else 0.0


def _counted_things(text: str, number: Number) -> frozenset[str]:
    """The stems of the two words behind a number, of which one is what it counts."""
    found = _NEXT.match(text, number.end)
    said = words(" ".join(filter(None, found.groups()))) if found else []
    return frozenset(stem(word) for word in said if word not in FUNCTION_WORDS and not word.isdigit())


def _squeeze(text: str) -> str:
    return "".join(tokens_of(text))
