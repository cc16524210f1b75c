"""How a question and a passage become the input of the shipped cross-encoder: token ids, and what each token is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from crag.text.words import stem

HEAD, TAIL = 96, 32
"""Question tokens that are read of a longer question: what is asked stands at one of its ends."""
MAX_PAIR = 320
"""Tokens of one input, the three special ones included."""
CLASSES = ("ordinary", "rare", "number")
"""What a word can be that says something by being met, or missed: 1, 2 and 3; all others are 0."""
KINDS = (
    "question",
    *(f"question, {each} word, {state}" for each in CLASSES for state in ("not in the passage", "in the passage")),
    "passage",
    *(f"passage {each} word of the question" for each in CLASSES),
    "title",
    *(f"title {each} word of the question" for each in CLASSES),
)
"""What a token can be; each kind has a learned vector that is added to the token's own."""
PASSAGE, TITLE = KINDS.index("passage"), KINDS.index("title")
RARE = 10_000
"""The vocabulary goes from frequent to rare: words from this number on, and words of several pieces, are rare."""
LONGEST_TITLE = 160

STOP = frozenset(
    """a an and are as at be been being but by can could did do does doing for from had has have he her hers him his how
    i if in into is it its itself just me my of on or our ours s she should so than that the their theirs them then
    there these they this those to too under until up very was we were what when where which while who whom whose why
    will with would you your yours about after before between during over t not no also any each some such many much
    one other more most""".split()
)
"""The words that the shipped model was trained to take for ordinary ones; its own list, so that it stays as it was."""


@dataclass(frozen=True, slots=True)
class Words:
    """Token ids with, for each, the stem and the class of the whole word it belongs to."""

    ids: Sequence[int]
    roots: Sequence[str]
    classes: Sequence[int]

    def cut(self, first: int, last: int) -> Words:
        return Words(self.ids[first:last], self.roots[first:last], self.classes[first:last])

    def __add__(self, other: Words) -> Words:
        return Words([*self.ids, *other.ids], [*self.roots, *other.roots], [*self.classes, *other.classes])


class WordReader:
    """Puts word pieces together to words again."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._pieces = {number: piece for piece, number in vocabulary.items()}

    def words(self, ids: Sequence[int]) -> Words:
        roots, classes = [""] * len(ids), [0] * len(ids)
        at = 0
        while at < len(ids):
            end, word, rare = self._word(ids, at)
            root, kind = _classify_word(word, rare)
            if kind:
                roots[at:end], classes[at:end] = [root] * (end - at), [kind] * (end - at)
            at = end
        return Words(ids, roots, classes)

    def _word(self, ids: Sequence[int], at: int) -> tuple[int, str, bool]:
        """Where the word that begins at a token ends, the word, and whether it is a rare one."""
        end, word = at + 1, self._pieces[ids[at]]
        while end < len(ids) and (piece := self._pieces[ids[end]]).startswith("##"):
            word, end = word + piece[2:], end + 1
        return end, word, end - at > 1 or ids[at] >= RARE


@lru_cache(maxsize=50_000)
def _classify_word(word: str, rare: bool) -> tuple[str, int]:
    """A word's stem and class; stop words, punctuation and single letters are of class 0."""
    if any(letter.isdigit() for letter in word):
        return word, 3
    if len(word) < 2 or not word.isalnum() or word in STOP:
        return "", 0
    return stem(word), 2 if rare else 1


def cut_question(ids: Sequence[int]) -> list[int]:
    """The tokens of a question that are read."""
    return list(ids) if len(ids) <= HEAD + TAIL else [*ids[:HEAD], *ids[-TAIL:]]


def title_end(text: str) -> int:
    """Where a text's title ends, 0 for none: a short first line that is no sentence, with more lines after it."""
    line, _, rest = text[: LONGEST_TITLE + 400].partition("\n")
    bare = line.strip()
    return len(line) if bare and len(line) <= LONGEST_TITLE and bare[-1] not in ".?!:;," and rest.strip() else 0


def paired(question: Words, passage: Words, title: int, cls: int, sep: int) -> tuple[list[int], list[int]]:
    """`[CLS] question [SEP] passage [SEP]` as ids, the passage cut to what fits, and the index into KINDS of each.

    `title`: how many of the passage's first tokens are its title.
    """
    read = passage.cut(0, MAX_PAIR - 3 - len(question.ids))
    met = set(question.roots).intersection(read.roots) - {""}
    asked = [
        2 * kind - 1 + (root in met) if kind else 0 for root, kind in zip(question.roots, question.classes, strict=True)
    ]
    marks = [
        (TITLE if at < title else PASSAGE) + (kind if root in met else 0)
        for at, (root, kind) in enumerate(zip(read.roots, read.classes, strict=True))
    ]
    return [cls, *question.ids, sep, *read.ids, sep], [0, *asked, 0, *marks, PASSAGE]
