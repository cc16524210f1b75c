"""The words that search goes by: of a question, and of what a document says of itself. Pure."""

from __future__ import annotations

import re
from itertools import pairwise

from crag.text.words import SEARCH_STOP_WORDS

_MOST_TERMS = 64
"""Words of one question that are looked up; what a person asks has fewer, a pasted page has many more."""

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_POSSESSIVE = re.compile(r"['’]s\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
# FY2019, CY19, Q22023, 2023Q2, FY23Q1: the usual short forms of a business year and quarter.
_FISCAL = re.compile(r"[fc]y(\d\d|\d{4})(?:q([1-4]))?")
_QUARTER = re.compile(r"(?:(\d{4})q([1-4])|q([1-4])(\d{4}))")


def question_terms(text: str) -> list[str]:
    """The question's words that can tell texts apart, in order, each once; short forms of years also written out."""
    words = _POSSESSIVE.sub("", text).lower()
    return [term for term in dict.fromkeys(_written_out(words)) if term not in SEARCH_STOP_WORDS and len(term) > 1][
        :_MOST_TERMS
    ]


def card_words(text: str) -> list[str]:
    """The words of a name, title or first page, in order.

    It is found by these, by their `forms`, and by neighbours that both `runs_together`: file names leave spaces out.
    """
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def asked_terms(text: str) -> list[str]:
    """What a question may name a document by: its terms, and neighbouring words run together."""
    words = _POSSESSIVE.sub("", text).lower()
    found = dict.fromkeys(_with_pairs(_written_out(words)))
    return [term for term in found if term not in SEARCH_STOP_WORDS and len(term) > 1][: 2 * _MOST_TERMS]


def years(terms: list[str]) -> list[str]:
    """Those of the terms that are years."""
    return [term for term in terms if _YEAR.fullmatch(term)]


def search_terms(query: str) -> list[str]:
    """The words that texts are searched for: the question's terms, or, where it has none, all its words."""
    return question_terms(query) or list(dict.fromkeys(_WORD.findall(query.lower())))[:_MOST_TERMS]


def forms(word: str) -> list[str]:
    """What a short form of a year or quarter says, in words; nothing for any other word."""
    if match := _FISCAL.fullmatch(word):
        year = match[1] if len(match[1]) == 4 else f"20{match[1]}"
        return [year, f"q{match[2]}"] if match[2] else [year]
    if match := _QUARTER.fullmatch(word):
        return [match[1] or match[4], f"q{match[2] or match[3]}"]
    return []


def runs_together(word: str) -> bool:
    """Whether a word may be the first or second part of one that stands without its space elsewhere."""
    return word.isalpha()


def _written_out(text: str) -> list[str]:
    return [found for word in _WORD.findall(text) for found in (word, *forms(word))]


def _with_pairs(words: list[str]) -> list[str]:
    pairs = pairwise(words)
    return words + [first + second for first, second in pairs if runs_together(first) and runs_together(second)]
