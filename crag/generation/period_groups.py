"""The periods that a question names together, as in "from 2017 to 2019", and where they stand. Pure, linear."""

from __future__ import annotations

import re
from typing import NamedTuple

from crag.generation.periods import periods_in

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
