"""Which of several values in one sentence a question means, and whether a text says the opposite of one. Pure.

"$6,350 for an individual and $12,700 for a family", "$2.7 billion and $2.0 billion in 2019 and 2018, respectively",
"£13.0 million (2018: £12.4 million)", "decreased by $4.8 million to $142.9 million". What is of another form stays as
it was read. Each form is matched between neighbouring numbers, so that the work grows with the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from crag.generation.subjects import MAX_QUESTION
from crag.text.numerals import Number, numbers_in
from crag.text.words import significant_stems, words

MAX_SENTENCE = 1_000
"""Characters of a sentence that is looked at."""
MAX_LABELS = 200
"""Characters of the labels before or behind values that are named "respectively"."""
TAIL_WORDS = 10
"""Words behind the last value that may belong to it."""

_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_BEHIND = r"(?:\s[\w'’%-]{1,24}){0,2}?\s(?:for|in|of|to|at|during|on|per|as of|from|under|if|when|by|with)"
_TAIL = re.compile(_BEHIND + r"\s")
_AND = r"(?:and|or|but|versus|vs\.?|against|(?:as )?compared (?:to|with)|(?:up |down )?from)"
_LINKED = re.compile(
    rf"{_BEHIND}(?:\s[\w'’$().&/-]{{1,30}}){{1,9}}?\s?(?:[,;](?:\s{_AND})?|\s{_AND})"
    r"(?:\s(?:an?|the|up to|about|approximately|only))?\s"
)
_LISTED = re.compile(r"\s?,\s|\s?,?\s(?:and|or)\s")
_TAIL_END = re.compile(r"[.;](?:\s|$)|,\s(?!\d{4}\b)")
_RESPECTIVELY = re.compile(r",?\srespectively\b", re.IGNORECASE)
_BRACKET = re.compile(r"[^()\d]{0,24}\([^():]{0,20}(?P<year>(?:1[5-9]|20)\d\d)[^():]{0,8}:\s")
_CHANGED_BY = re.compile(r"\b(?:in|de)creas\w*|\b(?:rose|grew|fell|declin\w*|improv\w*|dropp\w*)\b", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s(?:an?\s)?$", re.IGNORECASE)
_TO = re.compile(r"(?:\s[\w'’,%().-]{1,24}){0,3}?\sto\s(?:an?\s)?")
_ASKS_CHANGE = re.compile(r"\bhow much (?:did|has|have|had|do|does)\b|\bby how\b|\bby what\b", re.IGNORECASE)

_OPPOSITES = {
    word: other
    for one, another in (
        ("minimum", "maximum"),
        ("lowest", "highest"),
        ("smallest", "largest"),
        ("shortest", "longest"),
        ("oldest", "youngest"),
    )
    for word, other in ((one, another), (another, one))
}
_NEGATIONS = ("un", "in", "im", "non", "dis")
_LEAST_STEM = 5
"""Letters of a word behind such a prefix: "income" is no opposite of "come"."""

Span = tuple[int, int]


def says_opposite(question: str, text: str) -> bool:
    """Whether a text has the opposite of a word of the question and not the word: "restricted" for "unrestricted"."""
    asked, said = set(words(question[:MAX_QUESTION])), set(words(text))
    pairs = [(word, _OPPOSITES.get(word)) for word in asked]
    pairs += [(one, other) for one in asked for other in _without_prefix(one)]
    pairs += [(other, one) for one in said for other in _without_prefix(one) if other in asked]
    return any(other in said and word not in said for word, other in pairs)


def _without_prefix(word: str) -> list[str]:
    bare = (word.removeprefix(prefix) for prefix in _NEGATIONS if word.startswith(prefix))
    return [each for each in bare if len(each) >= _LEAST_STEM]


def find_qualified(question: str, sentence: str, start: int, end: int) -> Span | None:
    """The value of the sentence that the question means in place of that at [start, end); None where that one stays.

    A value takes its place where the question says words that belong to it alone, and none that belong to the other.
    """
    sentence = sentence[:MAX_SENTENCE]
    numbers = [number for number in numbers_in(sentence) if number.values and not _YEAR.fullmatch(number.text)]
    own = next((number for number in numbers if number.start < end and start < number.end), None)
    if own is None:
        return None
    alike = [number for number in numbers if number.unit == own.unit]
    at = alike.index(own)
    for chain, labels in _labelled(sentence, alike, at):
        meant = _meant(question, labels)
        if meant is not None:
            return None if chain[meant] is own else (chain[meant].start, chain[meant].end)
    return _reached(question, sentence, alike, at)


def _labelled(
    sentence: str, numbers: Sequence[Number], at: int
) -> list[tuple[Sequence[Number], Sequence[frozenset[str]]]]:
    """The values beside that of number `at`, and the words that belong to each, in each form that fits."""
    found: list[tuple[Sequence[Number], Sequence[frozenset[str]]]] = []
    chain = _chain(sentence, numbers, at, _LINKED)
    last = _tail(sentence, chain[-1])
    if len(chain) > 1 and _TAIL.match(last):
        between = [sentence[one.end : other.start] for one, other in pairwise(chain)]
        found.append((chain, [significant_stems(text) for text in (*between, last)]))
    chain = _chain(sentence, numbers, at, _LISTED)
    if len(chain) > 1 and (labels := _respective(sentence, chain)):
        found.append((chain, labels))
    for first in (at, at - 1):
        pair = numbers[max(0, first) : first + 2]
        if len(pair) == 2 and (match := _BRACKET.fullmatch(sentence, pair[0].end, pair[1].start)):
            found.append((pair, [frozenset(), frozenset([match["year"]])]))
    return found


def _chain(sentence: str, numbers: Sequence[Number], at: int, link: re.Pattern[str]) -> Sequence[Number]:
    """The numbers round number `at` that nothing but the link parts from one another."""
    first = last = at
    while first and link.fullmatch(sentence, numbers[first - 1].end, numbers[first].start):
        first -= 1
    while last + 1 < len(numbers) and link.fullmatch(sentence, numbers[last].end, numbers[last + 1].start):
        last += 1
    return numbers[first : last + 1]


def _tail(sentence: str, number: Number) -> str:
    """The words behind a value, to the end of its clause."""
    stop = _TAIL_END.search(sentence, number.end)
    parts = sentence[number.end : stop.start() if stop else len(sentence)].split()[:TAIL_WORDS]
    return f" {' '.join(parts)}"


def _respective(sentence: str, chain: Sequence[Number]) -> Sequence[frozenset[str]] | None:
    """The labels behind values that are named "respectively", or the years before or behind; None where none fit."""
    end = chain[-1].end
    said = _RESPECTIVELY.search(sentence, end, end + MAX_LABELS)
    if said is None:
        return None
    behind, before = sentence[end : said.start()], sentence[max(0, chain[0].start - MAX_LABELS) : chain[0].start]
    for years in (_YEAR.findall(behind), _YEAR.findall(before)):
        if len(years) == len(chain):
            return [frozenset([year]) for year in years]
    parts = _LISTED.split(behind.strip())
    # The last word is of all: "in the prior and year-ago quarters".
    parts[-1] = parts[-1].rpartition(" ")[0]
    return [significant_stems(part) for part in parts] if len(parts) == len(chain) else None


def _meant(question: str, labels: Sequence[frozenset[str]]) -> int | None:
    """The number of the one whose own words the question says; None where it says no such words, or of several."""
    asked, common = significant_stems(question[:MAX_QUESTION]), frozenset[str].intersection(*labels)
    meant = [place for place, label in enumerate(labels) if (label - common) & asked]
    return meant[0] if len(meant) == 1 else None


def _reached(question: str, sentence: str, numbers: Sequence[Number], at: int) -> Span | None:
    """What a change led to, where the change was read and the question does not ask for it."""
    if at + 1 == len(numbers) or _CHANGED_BY.search(question) or _ASKS_CHANGE.search(question):
        return None
    before = sentence[max(0, numbers[at].start - 40) : numbers[at].start]
    to = numbers[at + 1]
    if _CHANGED_BY.search(before) and not _FROM.search(before) and _TO.fullmatch(sentence, numbers[at].end, to.start):
        return to.start, to.end
    return None
