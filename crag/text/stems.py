"""Words cut to rough stems, so that "composer" in a question meets "composed" in a text."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["stem"]

_SUFFIXES = ("ational", "ization", "ations", "ation", "ments", "ment", "ingly", "edly", "ings", "ness", "ions", "ing")
_SHORT_SUFFIXES = ("ies", "ied", "ion", "ers", "ors", "ed", "er", "or", "es", "ly", "al", "s", "e", "y")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A lower-case word's rough stem. Numbers and words of at most three letters stay whole."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    for suffixes, shortest in ((_SUFFIXES, 4), (_SHORT_SUFFIXES, 3)):
        for suffix in suffixes:
            if word.endswith(suffix) and len(word) - len(suffix) >= shortest:
                return word[: -len(suffix)]
    return word
