"""Whether a text says a sentence word for word: as it stands, or but for the order and small words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from crag.core.types import Judgement
from crag.generation.citations import literal, quotable
from crag.text.sentences import sentences
from crag.text.words import FUNCTION_WORDS, stem

QUOTED = 1.0
"""The score of a sentence that is there as it is."""
REARRANGED = 0.95
"""Of one that is there but for the order and small words."""

# What turns a statement round, or compares, is no small word.
_SMALL = FUNCTION_WORDS - set("no not both but can could if into more most some than with will would".split())
_TURNS = frozenset(
    """no not nor never none neither without cannot may might could would should if unless except only almost nearly
    expected planned alleged""".split()
)
"""Words with which a sentence says another thing than without them."""
_BETWEEN = frozenset("from to than before after over under above below until since".split())
"""Words that say which of two numbers is which."""
_ITSELF = frozenset("answer answers question response result source sources document documents text value".split())
"""Words with which an answer speaks of itself and of what it rests on."""
_TOKEN = re.compile(r"\d[\d.,]*\d|\w+(?:['’]t\b)?")


def said_in(sentence: str, texts: Sequence[str]) -> Judgement:
    """What the words alone say: supported where a text has the sentence, as it is or but for order and small words.

    Elsewhere they can't tell: other words may say the same, and the same words another thing. The score is the share
    of the sentence's telling words that stand in the texts, 0..1, where they can't tell.
    """
    if any(literal(sentence, text) for text in texts):
        return Judgement(judge="words", supported=True, score=QUOTED)
    if not _telling(sentence):
        return Judgement(judge="words", supported=None)
    share = share_of_words(sentence, "\n".join(texts))
    if share == 1.0 and any(_rearranged(sentence, span) for text in texts for span in _sentences(text)):
        return Judgement(judge="words", supported=True, score=REARRANGED)
    return Judgement(judge="words", supported=None, score=share)


def share_of_words(sentence: str, text: str) -> float:
    """The share of the sentence's telling words, by their stems, that stand in the text, 0..1."""
    wanted, there = _telling(sentence), {stem(word) for word in _tokens(text)}
    return sum(stem(word) in there for word in wanted) / len(wanted) if wanted else 0.0


def has_subject(sentence: str) -> bool:
    """Whether a sentence says what it speaks of: "The answer is: 6.60" does not, and any text with 6.60 would fit."""
    return any(not word[0].isdigit() and word not in _ITSELF for word in _telling(sentence))


def _rearranged(sentence: str, other: str) -> bool:
    """Whether `other` is a sentence with the same words, small ones and their order aside, and says it no other way."""
    ours, theirs = _tokens(sentence), _tokens(other)
    if any(number > Counter(theirs)[word] for word, number in Counter(_telling(sentence)).items()):
        return False
    if _turned(ours) != _turned(theirs):
        return False
    numbers = [word for word in ours if word[0].isdigit()]
    return not _BETWEEN & set(ours) or [word for word in theirs if word in numbers] == numbers


def _turned(tokens: Sequence[str]) -> Counter[str]:
    """How often each word that turns what is said stands among these; every short form of "not" is that word."""
    short = ["not" if token.endswith(("'t", "’t")) else token for token in tokens]
    return Counter(token for token in short if token in _TURNS)


def _telling(text: str) -> list[str]:
    return [word for word in _tokens(text) if word not in _SMALL]


def _tokens(text: str) -> list[str]:
    """The words, folded in case, each number whole."""
    return _TOKEN.findall(quotable(text).casefold())


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]
