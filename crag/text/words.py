"""Words: their stems, those that say nothing, and text that repeats itself without end."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

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


# The shipped evaluator has lists of its own, which it was trained with and which stay as they were then: `STOP` in
# crag/models/cross_encoder.py, `_STOP` in crag/evaluation/heads.py.
FUNCTION_WORDS = frozenset(
    """a about also an and any are as at be been both but by can could did do does for from had has have he her
    his how i if in into is it its me more most no not of on or our she should some such than that the their
    them then there these they this those to was we were what when where which who whom whose why will with
    would you your""".split()
)
"""English words that say nothing, whether in a question, an answer or a document."""

SEARCH_STOP_WORDS = FUNCTION_WORDS | frozenset(
    """above after again all am because before being below between doing down during each few further having
    here hers him itself just my nor now off once only other ours out over own same so theirs through too under
    until up us very while yours""".split()
)
"""With those that say something in an answer, but that name no document."""

STOP_WORDS = SEARCH_STOP_WORDS | frozenset(
    """against aren't can't cannot couldn't didn't doesn't don't either else ever every get give given gives
    gave got hadn't happen happened happens hasn't haven't hence herself himself however i'd i'll i'm i've isn't
    it's know least less let let's like made make makes many may might mine much must myself near neither never
    one others ourselves per please quite rather really said say says shall shouldn't tell that's themselves
    there's therefore they're thus upon via wasn't we're weren't what's whatever when's where's whether who's
    whole why's within without won't wouldn't yes yet you're yourself explain describe show list find mention
    mentioned call called named name according""".split()
)
"""With all that name no subject: the verbs that only ask, short forms, and rarer function words."""

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words, as a range of a regular expression."""

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
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


def words(text: str) -> list[str]:
    """The words of a text, folded in case, in order."""
    return re.findall(r"\w+", text.casefold())


def count_words(text: str) -> int:
    """How many words a text has; in scripts without spaces each character is one."""
    return len(text.split()) if text.isascii() else sum(1 for _ in _WORD.finditer(text))


LEAST, CHARS = 3, 160
"""Copies one after another, and characters of them all, from which it is a loop."""
LINES, LINE_CHARS = 4, 20
"""Lines, alike but for their numbers, from which it is a loop; and the characters that each has."""
WINDOW = 2400
"""How much of the end is looked at: three copies of a longer text are not found."""

_SENTENCE = re.compile(r"[.!?][\])\"'”]*\s+")
_NUMBER = re.compile(r"^\W*(?:\d+[.):]?)?\s*")


def loop_in(text: str) -> int | None:
    """Where the first copy of what a text repeats at its end is over; None where it repeats nothing."""
    tail = text[-WINDOW:]
    begins, period = _periodic(tail)
    if period:
        start = len(text) - len(tail) + begins
        while start and text[start - 1] == text[start - 1 + period]:
            start -= 1
        # A copy may begin in the middle of a sentence: what is kept goes on to the end of it.
        first = start + period
        ends = _SENTENCE.search(text, max(0, first - 8), first + period)
        return ends.end() if ends and ends.end() >= first else first
    return _lines(text)


def _periodic(tail: str) -> tuple[int, int]:
    """Where the longest run of copies at the end begins, and how long one is; (0, 0) where there is none.

    The text is read backwards with Knuth, Morris and Pratt's table of what each beginning repeats.
    """
    turned, table, found = tail[::-1], [0], (0, 0)
    for place in range(1, len(turned)):
        known = table[-1]
        while known and turned[known] != turned[place]:
            known = table[known - 1]
        table.append(known + (turned[known] == turned[place]))
        length = place + 1
        period = length - table[-1]
        if length >= max(CHARS, LEAST * period):
            found = len(tail) - length, period
    return found


def _lines(text: str) -> int | None:
    """The same of lines that differ in their numbers alone; the last, which may be unfinished, does not count."""
    ends, whole = list[int](), list[str]()
    place = 0
    for line in text.split("\n")[:-1]:
        place += len(line) + 1
        if line.strip():
            ends.append(place)
            whole.append(_NUMBER.sub("", line.strip()))
    if len(whole) < LINES or len(whole[-1]) < LINE_CHARS or len(set(whole[-LINES:])) > 1:
        return None
    first = len(whole) - LINES
    while first and whole[first - 1] == whole[-1]:
        first -= 1
    return ends[first]
