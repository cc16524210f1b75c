"""Years, quarters and dates in a question: where they stand, and what "the year before" comes to."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_YEAR = r"(?:(?:fiscal(?: year)?|FY|plan year) ?)?(?:19|20)\d\d\b|FY ?\d\d\b"
_QUARTER = r"(?:Q[1-4]|(?:the )?(?:first|second|third|fourth) (?:fiscal )?quarter)"
_PERIOD = re.compile(
    rf"(?:(?:{_MONTHS}) \d{{1,2}},? (?:19|20)\d\d\b|(?:{_MONTHS}) (?:19|20)\d\d\b"
    rf"|{_QUARTER}(?:(?: of)?,? ?(?:{_YEAR}))?|{_YEAR})",
    re.IGNORECASE,
)
_BARE_YEAR = re.compile(r"(?:19|20)\d\d")
_SHIFTS = (
    (re.compile(r"\b(?:the|a) (?:(?:previous|prior|preceding) year|year (?:before|earlier))\b", re.IGNORECASE), -1),
    (re.compile(r"\b(?:the|a) (?:(?:following|next) year|year (?:after|later))\b", re.IGNORECASE), 1),
    (re.compile(r"\b(?:in )?(?:that|the same) (?:fiscal )?(?:year|quarter|period)\b|\bthen$", re.IGNORECASE), 0),
)


@dataclass(frozen=True, slots=True)
class Period:
    """The characters [start, end) of a text that name a time."""

    text: str
    start: int
    end: int


def periods(text: str) -> list[Period]:
    """All of them, in order."""
    return [Period(match.group(), match.start(), match.end()) for match in _PERIOD.finditer(text)]


def relative(text: str) -> bool:
    """Whether it speaks of a year only by its distance from another."""
    return any(form.search(text) for form, shift in _SHIFTS if shift)


def resolve_periods(text: str, base: str) -> str:
    """The text with "the year before", "a year later" or "that year" as what they are, counted from the period `base`.

    Unchanged where `base` holds no year.
    """
    year = _BARE_YEAR.search(base)
    if year is None:
        return text
    for form, shift in _SHIFTS:
        moved = base[: year.start()] + str(int(year.group()) + shift) + base[year.end() :]
        text = form.sub(lambda match, moved=moved: _fit_preposition(match.group(), moved), text)  # type: ignore[misc]
    return text


def _fit_preposition(said: str, period: str) -> str:
    """A period in the place of words that may have brought their own preposition."""
    return f"in {period}" if said.lower().startswith("in ") or said.lower() == "then" else period


def replace_last_period(text: str, to: str) -> str:
    """The text with its last period become `to`, in its own form where `to` is a bare year; with it at the end else."""
    found = periods(text)
    if not found:
        end = len(text.rstrip(" ?"))
        return f"{text[:end]} in {to}{text[end:]}"
    last = found[-1]
    said = to
    if _BARE_YEAR.fullmatch(to) and (year := _BARE_YEAR.search(last.text)):
        said = last.text[: year.start()] + to + last.text[year.end() :]
    return text[: last.start] + said + text[last.end :]
