"""The dates, years and periods that a text names, as exact as it names them. Pure, in time that grows with the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?P<month>(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?|" + "|".join(_MONTHS) + ")"
_YEAR = r"(?P<year>(?:1\d|20)\d\d)(?![\d%])(?![.,]\d)"
_NTH = r"(?:st|nd|rd|th)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\b{_MONTH}\s{{1,3}}(?P<day>\d{{1,2}}){_NTH}\b(?!:)(?:\s?[-–]\s?(?P<last>\d{{1,2}}){_NTH}\b)?(?:,?\s{{1,3}}{_YEAR})?",
        rf"(?<![\w.,])(?P<day>\d{{1,2}}){_NTH}[\s-](?:of\s)?(?:day\sof\s)?{_MONTH}\b(?:,?[\s-]{_YEAR})?",
        rf"\b{_MONTH},?\s(?:of\s)?{_YEAR}",
        r"(?<![\w.,/-])(?P<year>(?:1\d|20)\d\d)[-/.](?P<number>\d{1,2})[-/.](?P<day>\d{1,2})(?![\w/]|[-.,]\d)",
        r"(?<![\w.,/-])(?P<number>\d{1,2})(?P<sign>[-/.])(?P<day>\d{1,2})(?P=sign)(?P<year>(?:1\d|20)\d\d)(?![\w/]|[-.,]\d)",
        r"\b(?:FY|CY|fiscal(?:\syear)?)[\s'’]{0,2}(?P<year>(?:1\d|20)\d\d|\d\d)(?![\w,%]|\.\d)",
        r"(?<![\w.,$€£¥])(?P<year>(?:1\d|20)\d\d)\s?[-–/]\s?(?P<until>(?:(?:1\d|20)\d)?\d\d)(?![\w%]|[-.,/]\d)",
        r"(?<![\w.,$€£¥/])(?P<decade>(?:1\d|20)\d0)['’]?s\b",
        r"(?<![\w.,$€£¥])(?P<year>(?:1\d|20)\d\d)(?![\w%]|[.,]\d|[-\s](?:thousand|million|billion|trillion|percent)\b|\s%)",
    )
)
_LONELY = re.compile(
    r"\b(?:January|February|April|June|July|August|September|October|November|December"
    r"|(?<=\bin\s)(?:March|May)|(?<=\bof\s)(?:March|May))\b"
)
_CENTURY = re.compile(r"\b(?P<nth>\d{1,2})(?:st|nd|rd|th)[\s-](?P<word>centur(?:y|ies))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Day:
    """The characters [start, end) of a text as a date: 0 for what it leaves out.

    `readings` are (year, month, day), several where it can be read so: 3/4/2018. `decade`: the year stands for the ten
    years, or with `century` for the hundred, that it begins.
    """

    start: int
    end: int
    text: str
    readings: tuple[tuple[int, int, int], ...]
    decade: bool = False
    century: bool = False

    @property
    def years(self) -> range:
        """All years that it may mean, of the first reading."""
        year = self.readings[0][0]
        return range(year, year + (100 if self.century else 10 if self.decade else 1)) if year else range(0)


def dates_in(text: str) -> list[Day]:
    """All dates and years, in order; of two that overlap, the more exact one."""
    found: list[Day] = []
    taken = bytearray(len(text))
    for form in (*_FORMS, _CENTURY, _LONELY):
        for match in form.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            days = [*_read(match)]
            if days:
                found += days
                taken[start:end] = b"\1" * (end - start)
    return sorted(found, key=lambda day: (day.start, day.end))


def _read(match: re.Match[str]) -> Iterator[Day]:
    """What a match names: several dates where it is a range, none where its numbers are no date."""
    parts = match.groupdict()
    start, end, text = match.start(), match.end(), match.group()
    if match.re is _CENTURY:
        yield Day(start, end, text, ((100 * (int(parts["nth"]) - 1), 0, 0),), century=True)
        return
    if match.re is _LONELY:
        yield Day(start, end, text, ((0, _month(text), 0),))
        return
    if decade := parts.get("decade"):
        century = decade.endswith("00")  # the 1800s are the century, too
        yield Day(start, end, text, ((int(decade), 0, 0),), decade=True, century=century)
        return
    year = int(parts.get("year") or 0)
    if parts.get("year") and year < 100:
        year += 2000 if year < 70 else 1900
    if until := parts.get("until"):
        last = int(until) if len(until) == 4 else year // 100 * 100 + int(until)
        if last > year:
            middle = match.start("until")
            yield Day(start, match.end("year"), match["year"], ((year, 0, 0),))
            yield Day(middle, end, match["until"], ((last, 0, 0),))
        return
    day = int(parts.get("day") or 0)
    if parts.get("month"):
        month = _month(parts["month"])
        pairs = [(month, day)]
    elif parts.get("number"):
        number = int(parts["number"])
        pairs = [(number, day)] if "sign" not in parts else [(number, day), (day, number)]
    else:
        pairs = [(0, 0)]
    readings = tuple(dict.fromkeys((year, month, day) for month, day in pairs if month <= 12 and day <= 31))
    if readings:
        yield Day(start, end, text, readings)
        if (second := parts.get("last")) and int(second) <= 31:
            yield Day(match.start("last"), match.end("last"), second, ((year, readings[0][1], int(second)),))


def _month(text: str) -> int:
    prefix = text[:3].casefold()
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(prefix))
