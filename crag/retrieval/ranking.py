"""Ranking candidates for a question, the same whatever index found them, and the words that search goes by. Pure.

Why these parts and these weights: docs/decisions/retrieval.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.index.chunk_index import Candidates, Numbers, Scores
from crag.text.words import SEARCH_STOP_WORDS, WORD, separate_words

Mode = Literal["hybrid", "dense", "bm25"]

BM25_WEIGHT = 0.25
"""What the best BM25 match adds to its cosine; the others add in proportion."""
CARD_WEIGHT = 0.08
"""What one nat of rarity in the words that name a document adds to the cosines of its chunks."""
UNNAMED_DISCOUNT = 0.05
"""What a cosine with the question gives away where the names of documents are left out of it."""
PAGE_DISCOUNT = 0.1
"""What a chunk gives away to other pages for every better chunk of its own page."""
_DISCOUNTED = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Candidates and what the records say of them, m rows in order of `numbers`.

    `documents`, `pages` (m,) say where a chunk stands; `dense` (m,) is its cosine with the question, NaN where it has
    no vector yet; `lexical` (m,) its BM25, 0 where it is not among the best by words.
    """

    numbers: Numbers
    documents: Numbers
    pages: Numbers
    dense: Scores
    lexical: Scores


def join_candidates(*found: Candidates) -> Candidates:
    """Candidates of several searches, each chunk once, in order of number, with what any of them knows of it."""
    numbers = np.unique(np.concatenate([each.numbers for each in found]))
    dense = np.full(len(numbers), np.nan, np.float32)
    lexical = np.zeros(len(numbers), np.float32)
    for each in found:
        rows = np.searchsorted(numbers, each.numbers)
        dense[rows] = np.where(np.isnan(each.dense), dense[rows], each.dense)
        lexical[rows] = np.maximum(lexical[rows], each.lexical)
    return Candidates(numbers, dense, lexical)


def nearer(one: Candidates, other: Candidates) -> Candidates:
    """Candidates of two searches, each chunk with the larger of its cosines; the second question's count a bit less."""
    joined = join_candidates(one, replace(other, dense=other.dense - np.float32(UNNAMED_DISCOUNT)))
    rows = np.searchsorted(joined.numbers, one.numbers)
    joined.dense[rows] = np.fmax(joined.dense[rows], one.dense)
    return joined


def rank(
    rows: Rows, k: int, *, mode: Mode, named: Scores | None = None, decay: Scores | None = None
) -> tuple[NDArray[np.int64], Scores]:
    """The places in `rows` of at most `k` chunks, best first, and the score of every row.

    `named` (m,) says how far the question names a chunk's document, `decay` (m,) what is left of its similarity after
    the time that has passed, 0..1. With mode "bm25" only rows that have a word of the question count. Rows without a
    vector are found by their words alone, and count as near as those usually are that words find.
    """
    by_words = rows.lexical > 0
    cosines = rows.dense[by_words & ~np.isnan(rows.dense)]
    usual = np.where(by_words, cosines.mean() if len(cosines) else 0, -np.inf) if mode != "dense" else -np.inf
    dense = np.where(np.isnan(rows.dense), usual, rows.dense).astype(np.float32)
    if mode == "dense":
        score = dense
    elif mode == "bm25":
        score = np.where(by_words, rows.lexical, -np.inf).astype(np.float32)
    else:
        best = max(float(rows.lexical.max(initial=0.0)), 1e-9)
        score = dense + np.float32(BM25_WEIGHT / best) * rows.lexical
        score = score if named is None else score + np.float32(CARD_WEIGHT) * named
    if decay is not None:
        # A negative score must not rise by shrinking.
        score = np.where(score > 0, score * decay, score)
    if mode == "hybrid":
        score = _discounted(rows, score, max(_DISCOUNTED, k))
    order = _best(score, k)
    return order[np.isfinite(score[order])], score


def _discounted(rows: Rows, score: Scores, count: int) -> Scores:
    """The `count` best scores, each less the discount for every better chunk of its page; the rest at minus infinity.

    Five chunks of one page tell less than five pages do.
    """
    seen: dict[tuple[int, int], int] = {}
    found = np.full_like(score, -np.inf)
    for row in _best(score, count):
        page = (int(rows.documents[row]), int(rows.pages[row]))
        found[row] = score[row] - PAGE_DISCOUNT * seen.get(page, 0)
        seen[page] = seen.get(page, 0) + 1
    return found


def _best(score: Scores, count: int) -> NDArray[np.int64]:
    """The rows of the `count` highest scores, best first, equal ones in order of addition."""
    return np.argsort(-score, kind="stable")[:count]


# ---- words of questions and cards ------------------------------------------------------------------------------------

_LEAST_TERMS = 2
"""Words that tell texts apart: fewer are no question."""
_MOST_TERMS = 64
"""Words of one question that are looked up; what a person asks has fewer, a pasted page has many more."""

_WORD = re.compile(WORD)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NAME = re.compile(r"\b([^\W\d_]+)\b(?:['’]s\b)?")
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
    """The words of a name, title or first page, in order."""
    return _WORD.findall(separate_words(_CAMEL.sub(" ", text)).lower())


def card_terms(text: str) -> set[str]:
    """What a name, title or first page is found by: its words, what short forms among them say, and neighbouring words
    run together, as file names leave spaces out.
    """
    words = card_words(text)
    return {*_with_pairs(words), *(form for word in words if not word.isalpha() for form in forms(word))}


def asked_terms(text: str) -> list[str]:
    """What a question may name a document by: its terms, and neighbouring words run together."""
    words = _POSSESSIVE.sub("", text).lower()
    found = dict.fromkeys(_with_pairs(_written_out(words)))
    return [term for term in found if term not in SEARCH_STOP_WORDS and len(term) > 1][: 2 * _MOST_TERMS]


def without_names(question: str, names: Iterable[str]) -> str:
    """The question without what it names documents by: its words with a capital that one of the names has.

    A document need not say its name on every page. Nothing where none of them is named, or where too little is left.
    """
    said = {word for name in names for word in card_words(name)}
    kept, at = "", 0
    for match in _NAME.finditer(question):
        if match.start() and match[1][0].isupper() and said.issuperset(card_words(match[1])):
            kept, at = kept + question[at : match.start()], match.end()
    kept = " ".join((kept + question[at:]).split())
    return kept if at and len(question_terms(kept)) >= _LEAST_TERMS else ""


def years(terms: list[str]) -> list[str]:
    """Those of the terms that are years."""
    return [term for term in terms if _YEAR.fullmatch(term)]


def search_terms(query: str) -> list[str]:
    """The words that texts are searched for: the question's terms, or, where it has none, all its words."""
    return question_terms(query) or list(dict.fromkeys(_WORD.findall(separate_words(query).lower())))[:_MOST_TERMS]


def forms(word: str) -> list[str]:
    """What a short form of a year or quarter says, in words; nothing for any other word."""
    if match := _FISCAL.fullmatch(word):
        year = match[1] if len(match[1]) == 4 else f"20{match[1]}"
        return [year, f"q{match[2]}"] if match[2] else [year]
    if match := _QUARTER.fullmatch(word):
        return [match[1] or match[4], f"q{match[2] or match[3]}"]
    return []


def _written_out(text: str) -> list[str]:
    return [found for word in _WORD.findall(separate_words(text)) for found in (word, *forms(word))]


def _with_pairs(words: list[str]) -> list[str]:
    return words + [first + second for first, second in pairwise(words) if first.isalpha() and second.isalpha()]
