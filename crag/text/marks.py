"""Letters with no more accents than a writing has: normal forms take time by the square of a run of them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

__all__ = ["few_marks", "unmarked"]

MOST = 30
"""Marks on one letter that are kept, as in Unicode's stream-safe text (UAX #15); no language has so many."""


def few_marks(text: str) -> str:
    """The text, to be normalized in time that grows with its length: of a long run of marks, the first ones."""
    return text if text.isascii() else _long_runs().sub(lambda run: run[0][:MOST], text)


def unmarked(text: str) -> str:
    """The text from its first letter on: marks before it would join those of whatever text comes before."""
    return text if text[:1].isascii() else text.lstrip(_marks())


@cache
def _long_runs() -> re.Pattern[str]:
    return re.compile(f"[{re.escape(_marks())}]{{{MOST + 1},}}+")


@cache
def _marks() -> str:
    # Also the few signs that count as letters and come apart into marks.
    each = map(chr, range(0x300, 0x20000))
    return "".join(
        sign for sign in each if any(map(unicodedata.combining, (sign, unicodedata.normalize("NFKD", sign)[0])))
    )
