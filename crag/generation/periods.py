"""The fiscal year, quarter or date that a question or a column names, and whether the two are the same. Pure.

The periods that a question names together, as in "from 2017 to 2019", and where they stand. Pure, linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from crag.text.dates import dates_in

Span = Literal["", "quarter", "half", "nine months", "year"]

_SPANS: tuple[tuple[Span, re.Pattern[str]], ...] = (
    ("nine months", re.compile(r"\b(?:nine|9)[\s-]months?\b|\b(?:36|39|40)[\s-]weeks?\b|thirty[\s-]nine weeks", re.I)),
    (
        "half",
        re.compile(r"\b(?:six|6)[\s-]months?\b|\b2[4-8][\s-]weeks?\b|twenty[\s-]six weeks|\bhalf\b|\bH[12]\b", re.I),
    ),
    (
        "quarter",
        re.compile(r"\b(?:three|3)[\s-]months?\b|\b1[2-7][\s-]weeks?\b|thirteen weeks|quarter|\bQ[1-4]|\b[1-4]Q", re.I),
    ),
    (
        "year",
        re.compile(r"\b(?:twelve|12)[\s-]months?\b|\b5[23][\s-]weeks?\b|\byears?[\s-]ended\b|\bfull[\s-]year\b", re.I),
    ),
)
_QUARTER = re.compile(r"\bQ([1-4])(?!\d)|\b([1-4])Q|\b(first|second|third|fourth)[\s-](?:fiscal\s)?quarter", re.I)
_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_SHORT = re.compile(r"(?:\bQ[1-4]|\b[1-4]Q)[\s'’]{0,2}(?:FY\s?)?(\d\d)(?!\d)", re.I)
_YEARS = range(1950, 2101)
_DRIFT = 8
"""The most days by which a fiscal month of weeks ends after the calendar's."""


@dataclass(frozen=True, slots=True)
class Period:
    """`month` and `day` are 0 where only a year is named. `quarter` is 0 where its number is not named."""

    year: int
    month: int = 0
    day: int = 0
    span: Span = ""
    quarter: int = 0

    @property
    def calendar_quarter(self) -> int:
        """The quarter that its date ends, 1..4; 0 without a date. July 2 ends the second one."""
        if not self.month:
            return 0
        month = self.month - 1 if 0 < self.day <= _DRIFT else self.month
        return (month - 1) // 3 + 1 if month else 4


def periods_in(text: str) -> tuple[Period, ...]:
    """The periods that a text names, each once, with the span and quarter that it names for all of them."""
    span, quarter = span_in(text), _quarter_in(text)
    found: dict[Period, None] = {}
    for day in dates_in(text):
        year, month, nth = day.readings[0]
        if year in _YEARS and not day.decade and not day.century:
            found[Period(year, month, nth, span, quarter)] = None
    for match in _SHORT.finditer(text):
        found[Period(2000 + int(match[1]), 0, 0, span, quarter)] = None
    dated = {period.year for period in found if period.month}
    return tuple(period for period in found if period.month or period.year not in dated)


def span_in(text: str) -> Span:
    """How long the periods are that a text names; "" where it does not say."""
    return next((span for span, form in _SPANS if form.search(text)), "")


def _quarter_in(text: str) -> int:
    match = _QUARTER.search(text)
    if match is None:
        return 0
    return _NTH[match[3].lower()] if match[3] else int(match[1] or match[2])


def is_same_period(asked: Period, shown: Period, *, ends: Period | None = None) -> bool:
    """Whether a column that shows one period has the values of the one that is asked for.

    `ends`: the date that a quarterly report is of; its balances are not those of a year's end. A year that ends in
    January is no year's: it may have the name of either.
    """
    if asked.day:
        if (shown.year, shown.month, shown.day) == (asked.year, asked.month, asked.day):
            return _fits_span(asked, shown)
        return not shown.month and shown.year == asked.year and not shown.span and not asked.span and not shown.quarter
    if asked.quarter:
        nth = shown.quarter or shown.calendar_quarter
        return shown.span in ("", "quarter") and nth == asked.quarter and shown.year == asked.year
    if asked.month:
        return (shown.year, shown.month) == (asked.year, asked.month) and _fits_span(asked, shown)
    if asked.span not in ("", "year"):
        return shown.span == asked.span and shown.year == asked.year
    if shown.span not in ("", "year") or shown.quarter:
        return False
    if ends is not None and (shown.year, shown.month, shown.day) == (ends.year, ends.month, ends.day):
        return False
    in_january = shown.month == 1 or (shown.month == 2 and shown.day <= _DRIFT)
    return shown.year == asked.year and not in_january


def _fits_span(asked: Period, shown: Period) -> bool:
    return not asked.span or not shown.span or asked.span == shown.span


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:\b[fc]y ?|(?<![\w.,$€£/]))(?:19|20)\d\d(?![\d%/]|\.\d|,\d{3}(?!\d))|\bfy ?'?\d\d(?![\w%/])"
PERIOD = re.compile(rf"(?i)(?:\b{_MONTH} (?:\d{{1,2}},? )?)?(?:{_YEAR})")
_JOIN = re.compile(
    r"(?i) ?(?P<how>,(?: and)?|[-–]|\b(?:to|and|through|from|over|versus|vs\.?|against|relative to"
    r"|(?:as )?compared (?:to|with)))"
    r"(?: (?:the|in|for|that|of|fiscal|years?|end|ended|both))* ?"
)
_BEFORE = frozenset(
    """from between in for during over of across at as by both the year years fiscal financial calendar period periods
    end ended ending two three four five 2 3 4 5 2-year 3-year two-year three-year""".split()
)


class PeriodGroup(NamedTuple):
    """The characters [start, end) of a text that name periods, with what leads to them; `how` they are joined."""

    start: int
    end: int
    periods: tuple[str, ...]
    how: str = ""


def group_periods(text: str) -> list[PeriodGroup]:
    """The periods of a text, those together that only joining words part."""
    found: list[PeriodGroup] = []
    for match in PERIOD.finditer(text):
        joined = _JOIN.fullmatch(text, found[-1][1], match.start()) if found else None
        if joined:
            start, _, periods, _ = found[-1]
            periods = tuple(dict.fromkeys((*periods, match[0])))
            found[-1] = PeriodGroup(start, match.end(), periods, joined["how"].strip().casefold())
            continue
        start = match.start()
        while (before := text[:start].rstrip()) and (word := before.rpartition(" ")[2]).casefold().strip(
            "("
        ) in _BEFORE:
            start = len(before) - len(word)
        found.append(PeriodGroup(start, match.end(), (match[0],)))
    return found


def when(period: str) -> tuple[int, int, int]:
    """The year, month and day of a period, 0 for what it does not name."""
    read = periods_in(period)
    return (read[0].year, read[0].month, read[0].day) if read else (0, 0, 0)


def move_years(period: str, by: int) -> str:
    """The same day of the year that is `by` years later."""
    year = when(period)[0]
    return re.sub(r"\d{2,4}$", str(year + by), period)
