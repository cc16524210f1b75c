"""Words as the local evaluator compares them: stems, their rarity, names, numbers, and what a question asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["KINDS", "Lexicon", "Question", "Words", "kind_of", "stem", "words_of"]

KINDS = ("who", "when", "where", "quantity", "how", "other")
"""What a question asks for."""

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
_MONTH = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|century|today)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion"
    r"|half|percent|one|once|twice|several)\b",
    re.IGNORECASE,
)
_STOP = frozenset(
    """a an and are as at be been being but by can could did do does doing for from had has have he her hers him his how
    i if in into is it its itself just me my of on or our ours s she should so than that the their theirs them then
    there these they this those to too under until up very was we were what when where which while who whom whose why
    will with would you your yours about after before between during over t not no also any each some such
    many much name named called tell give list describe explain according""".split()
)
_SUFFIXES = ("ational", "ization", "ations", "ation", "ments", "ment", "ingly", "edly", "ings", "ness", "ions", "ing")
_SHORT_SUFFIXES = ("ies", "ied", "ion", "ers", "ors", "ed", "er", "or", "es", "ly", "al", "s", "e", "y")


def stem(word: str) -> str:
    """A word's rough stem: enough that "composer" meets "composed". Numbers stay whole."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    for suffix in _SHORT_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


@dataclass(frozen=True, slots=True)
class Words:
    """One text's words: stems in order (stop words as empty strings), names and numbers among them."""

    stems: tuple[str, ...]
    content: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    dated: bool
    amount: bool
    asks: bool


def words_of(text: str) -> Words:
    """The words of a sentence or question. A name is a capitalised word that does not open the text."""
    stems, names, numbers = [], set(), set()
    for position, match in enumerate(_TOKEN.finditer(text)):
        token = match.group()
        lowered = token.lower().removesuffix("'s").removesuffix("’s")
        if lowered in _STOP:
            stems.append("")
            continue
        root = stem(lowered)
        stems.append(root)
        if any(character.isdigit() for character in token):
            numbers.add(root)
        elif token[0].isupper() and position > 0:
            names.add(root)
    dated = bool(_YEAR.search(text) or _MONTH.search(text))
    content = frozenset(root for root in stems if root)
    asks = text.rstrip("\"'”’) \t\n").endswith("?")
    return Words(tuple(stems), content, frozenset(names), frozenset(numbers), dated, bool(_AMOUNT.search(text)), asks)


def kind_of(question: str) -> str:
    """Which of KINDS a question asks for, by its question words."""
    text = f" {question.lower()} "
    if re.search(
        r"\b(?:how (?:many|much|long|old|far|big|large|tall|high|often|fast)|what percent\w*|what number)\b", text
    ):
        return "quantity"
    if re.search(r"\b(?:when|what year|which year|what date|what day|what month|what century)\b", text):
        return "when"
    if re.search(r"\b(?:who|whom|whose)\b", text):
        return "who"
    if re.search(
        r"\b(?:where|(?:what|which) (?:country|city|state|place|town|county|capital|location|continent))\b", text
    ):
        return "where"
    if re.search(r"\b(?:how|why)\b", text):
        return "how"
    return "other"


class Lexicon:
    """How rare stems are, counted once over a background of paragraphs."""

    def __init__(self, paragraphs: int, counts: Mapping[str, int]) -> None:
        self._top = math.log(paragraphs + 1)
        self._rarity = {root: self._top - math.log(count + 1) for root, count in counts.items()}

    def rarity(self, root: str) -> float:
        """0 for a word in every paragraph, 1 for one in none."""
        return self._rarity.get(root, self._top) / self._top

    def total(self, roots: Iterable[str]) -> float:
        """The sum of the rarities."""
        return sum(self.rarity(root) for root in roots)


@dataclass(frozen=True, slots=True)
class Question:
    """A question's words with their rarity, the pairs that stand side by side in it, and its kind."""

    words: Words
    terms: dict[str, float]
    pairs: frozenset[tuple[str, str]]
    kind: str

    @staticmethod
    def read(text: str, lexicon: Lexicon) -> Question:
        """Any text gives a question; one of stop words alone has no terms."""
        words = words_of(text)
        terms = {root: 0.05 + lexicon.rarity(root) for root in dict.fromkeys(words.stems) if root}
        return Question(words, terms, side_by_side(words.stems), kind_of(text))


def side_by_side(stems: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """Content stems that follow each other directly."""
    return frozenset(pair for pair in pairwise(stems) if all(pair))
