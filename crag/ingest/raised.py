"""Raised and lowered text as it is written in a line: a footnote's mark apart, an exponent behind a sign. Pure."""

from __future__ import annotations

import re

_MARK = re.compile(
    r"\d[\d,;]{0,5}|\d{1,3}(?:, ?\d{1,3}){1,3}|[a-zA-Z]|[ivx]{2,4}|[*†‡§¶#]{1,4}|\(\w{1,2}\)|\[\w{1,3}\]"
)
"""What marks a footnote."""
_TEN = re.compile(r"(?<![\d.,])10$")
_TWO = re.compile(r"(?<![\d.,])2$")
_VARIABLE = re.compile(r"(?<!\w)[a-zB-HJ-Z]$|[)\]]$")
_POWER = re.compile(r"\d{1,3}|[a-z]")
_SIGNED = re.compile(r"[-+−–]\d{1,2}")
_LENGTH = re.compile(r"(?<![^\W\d_])[kcmdµnh]?m$|(?:\d ?|[/(])(?:ft|in|yd|mi|s|h)$")
"""A unit that has squares and cubes; one that is a word, too, behind a number."""
_UNIT = re.compile(r"(?<![^\W\d_])(?:[kcmdµnh]?m|ft|in|yd|mi|sec|s|h|yr|k?g|mol|K)$")
"""A unit that stands under a fraction."""
_SQUARES = {"2": "²", "3": "³"}
_UNDER = {"-1": "⁻¹", "-2": "⁻²", "-3": "⁻³"}
_OF_NUMBERS = frozenset("o e º ª".split())
"""Letters that make an ordinal of the number before them, as in "2º"."""
_LINES = ("/", "⁄")  # of fractions


def write_raised(before: str, raised: str, after: str = "") -> str:
    """The raised text as it stands behind the text `before` it, with the blanks that part them and what is `after` it.

    Behind "10" a "6" is "^6"; behind "m" a "2" is "²"; behind "250" it is " [2]"; behind "21" an "st" is "st".
    A mark that begins a line, as a footnote does, is "[2]".
    """
    raised = raised.strip()
    signed = raised.replace("−", "-").replace("–", "-")
    if raised in _SQUARES and _LENGTH.search(before):
        return _SQUARES[raised]
    if signed in _UNDER and _UNIT.search(before):
        return _UNDER[signed]
    if after[:1] in _LINES and raised.isdigit():  # "1 1/2"
        return f" {raised}" if before[-1:].isdigit() else raised
    if _SIGNED.fullmatch(raised) or (_POWER.fullmatch(raised) and _is_base(before, raised)):
        return f"^{raised}"
    if not _MARK.fullmatch(raised) or (before[-1:].isdigit() and raised in _OF_NUMBERS):
        return f" {raised}" if " " in raised else raised
    mark = raised if raised[0] in "([" else f"[{raised}]"
    return (f" {mark}" if before.strip() else mark) + " " * after[:1].isalnum()


def write_lowered(before: str, lowered: str) -> str:
    """The lowered text as it stands behind the text `before` it: "CO2", "x1", but "7_10"."""
    lowered = lowered.strip()
    return f"_{lowered}" if before[-1:].isdigit() and lowered[:1].isdigit() else lowered


def _is_base(before: str, raised: str) -> bool:
    """Whether what stands before is raised to this power, rather than marked with it."""
    if _TWO.search(before):
        return len(raised) > 1  # "2^32", but a footnote's mark in "a minimum of 2¹"
    return bool(_TEN.search(before) or (_VARIABLE.search(before) and raised in ("2", "3", "n")))
