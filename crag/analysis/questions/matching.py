"""Whether a text gives an expected answer: words after normalisation, amounts by value. Pure, and no model is asked.

The normalisation and the token F1 follow the evaluation of SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250): lower
case, no punctuation, no articles. Departures: accents fall away, hyphens and slashes part words, a possessive 's is
dropped, and an amount is one token that is compared by its value.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from crag.text.memory import remember
from crag.text.numerals import SCALES, UNITS
from crag.text.words import FUNCTION_WORDS, LETTER, WORD, few_marks, stem

LONG = 10
"""An expected answer of more tokens than this is not looked for word by word."""
LONG_SHARE = 0.7
"""The share of a long answer's content words, beside all of its amounts, from which a text is taken to say it."""
MOST_WORDS = 20
"""An expected answer of more content words is an explanation: no text repeats enough of it, so it is not scored."""
MOST_SIGNS = 40
"""The same of letters of a script without spaces, which are looked for in order."""
SENTENCE_WORDS = 5
"""An expected answer of fewer words is no sentence."""
Comparison = Literal["in order", "sentence", "long", "none"]
"""How an expected answer is looked for: see `comparison`."""

_AMOUNT = re.compile(
    r"""(?<!\w)(?<!\d[.,])(?P<sign>[-−])?
    (?P<currency>us\$|[$€£¥]|(?:usd|eur|gbp|jpy)(?=\s?[-−.\d]))?\s?(?P<inner>[-−])?
    (?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    (?:[\s-]?(?P<scale>thousand|million|billion|trillion|mn|mm|bn)s?\b)?
    (?(currency)(?P<short>[kmbt]\b)?)
    (?:\s?(?P<mark>%|x\b)|\s(?P<unit>percent|per\scent|usd|dollar|eur|euro|gbp|pound|jpy|yen)s?\b)?
    (?!\w|[.,]\d)""",
    re.VERBOSE,
)
_IN_SCALE = re.compile(r"\bin\s(?:\w+\s|[$€£¥]\s?){0,2}(thousand|million|billion)s?\b")
_END = re.compile(r"[.!?]['\")\]]*\s*\Z")
_VERBS = frozenset({"are", "can", "did", "does", "had", "has", "have", "is", "was", "were", "will", "would"})
_CITATION = re.compile(r"\[\d+\]")
_POSSESSIVE = re.compile(r"['’]s\b")
_JOINED = re.compile(r"['’`]|(?<=\b[^\W\d_])\.(?=[^\W\d_]\b|\W|$)")
_LETTER, _WORD = re.compile(LETTER), re.compile(WORD)
"""In scripts without spaces each letter is a word, as in the evaluation of CMRC 2018 (Cui et al., arXiv 1810.07366); in
Korean too, as in that of KorQuAD (Lim et al., arXiv 1909.07005).
"""
_ACCENTS = frozenset((*range(10, 37), *range(200, 241)))
"""Classes of Unicode's combining marks: accents, and the vowels of Hebrew and Arabic, which few texts write."""
_ARTICLES = frozenset({"a", "an", "the"})
_POLAR = frozenset({"yes", "no"})
_STOP = FUNCTION_WORDS | {"give", "many", "may", "much", "tell", "yes"}


@dataclass(frozen=True, slots=True)
class _Amount:
    """What a number may stand for: all its readings; `unit` "" where none is written."""

    values: tuple[float, ...]
    unit: str


_Token = str | _Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMatch:
    """A given answer against the accepted one that it is closest to. `f1` lies in 0..1.

    `holds`: it says the accepted answer, among other things perhaps.
    """

    f1: float
    holds: bool


def answer_match(given: str, accepted: Sequence[str], *, scale: float = 1.0) -> AnswerMatch | None:
    """The best match over all accepted answers; None where none can be compared. `scale` as `asked_scale` gives it."""
    wanted = comparable(accepted)
    if not wanted:
        return None
    return AnswerMatch(
        f1=max(token_f1(given, answer, scale=scale) for answer in wanted),
        holds=holds(given, wanted, scale=scale, polar=True),
    )


def token_f1(given: str, accepted: str, *, scale: float = 1.0) -> float:
    """The harmonic mean of the shares of tokens that one has of the other, 0..1; 0 where either is empty."""
    left, right = _tokens(given, scale), _tokens(accepted, scale)
    words = Counter(token for token in left if isinstance(token, str))
    common = sum((words & Counter(token for token in right if isinstance(token, str))).values())
    rest = [token for token in right if isinstance(token, _Amount)]
    for amount in (token for token in left if isinstance(token, _Amount)):
        found = next((place for place, other in enumerate(rest) if _same(amount, other)), None)
        if found is not None:
            del rest[found]
            common += 1
    return 2 * common / (len(left) + len(right)) if left and right else 0.0


def holds(text: str, accepted: Iterable[str], *, scale: float = 1.0, polar: bool = False) -> bool:
    """Whether `text` says one of the accepted answers, as `comparison` says for each.

    A plain yes or no says nothing of an evidence; with `polar`, `text` is itself an answer, and must begin with the
    same of the two.
    """
    tokens = _tokens(text, scale)
    return any(_states(tokens, _tokens(answer, scale), comparison(answer), polar) for answer in accepted)


@remember(1_024)
def comparison(answer: str) -> Comparison:
    """How an accepted answer is looked for in a text.

    "in order": its tokens must stand in the text one after another. "sentence": a whole sentence of at most LONG
    tokens, all of whose content words and amounts must stand in the text, in any order. "long": all amounts and
    LONG_SHARE of the content words must. "none": no text can be compared with it, because it says nothing or has over
    MOST_WORDS content words.
    """
    tokens = _tokens(answer, 1.0)
    stems, amounts = _stems(tokens), sum(isinstance(token, _Amount) for token in tokens)
    if signs := sum(isinstance(token, str) and _LETTER.match(token) is not None for token in tokens):
        return "in order" if signs <= MOST_SIGNS else "none"
    if len(tokens) > LONG:
        return "long" if len(stems) + amounts > 0 and len(stems) <= MOST_WORDS else "none"
    if not tokens:
        return "none"
    words = answer.split()
    ends = bool(_END.search(answer)) and len(stems) + amounts >= 2
    tells = not _VERBS.isdisjoint(tokens) and len(stems) + amounts >= 3
    return "sentence" if len(words) >= SENTENCE_WORDS and (ends or tells) else "in order"


def comparable(accepted: Iterable[str]) -> tuple[str, ...]:
    """The accepted answers that a given answer can be compared with."""
    return tuple(answer for answer in accepted if comparison(answer) != "none")


def checkable(accepted: Iterable[str]) -> tuple[str, ...]:
    """The accepted answers that can be looked for in an evidence: the comparable ones but a plain yes or no."""
    return tuple(answer for answer in comparable(accepted) if not _is_polar(_tokens(answer, 1.0)))


def asked_scale(question: str) -> float:
    """What amounts without a scale of their own may be multiplied by: 1e6 of "in USD millions"; else 1."""
    found = _IN_SCALE.search(question.casefold())
    return SCALES[found[1]] if found else 1.0


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words that say something, numbers among them."""
    words = (word for word in _words(_plain(text)) if word not in _STOP)
    return frozenset(stem(word) for word in words)


def _states(text: Sequence[_Token], answer: Sequence[_Token], how: Comparison, polar: bool) -> bool:
    if how == "none" or not text:
        return False
    if polar and answer[0] in _POLAR and text[0] in _POLAR and text[0] != answer[0]:
        return False
    if _is_polar(answer):
        return polar and text[0] == answer[0]
    if how == "in order":
        first, starts = answer[0], text[: max(0, len(text) - len(answer) + 1)]
        if isinstance(first, str) and first not in starts:
            return False
        return any(_same(token, first) and _stands_at(text, place, answer) for place, token in enumerate(starts))
    amounts = [token for token in answer if isinstance(token, _Amount)]
    in_text = [token for token in text if isinstance(token, _Amount)]
    if not all(any(_same(amount, other) for other in in_text) for amount in amounts):
        return False
    stems = _stems(answer)
    return len(stems & _stems(text)) >= (1.0 if how == "sentence" else LONG_SHARE) * len(stems)


def _is_polar(answer: Sequence[_Token]) -> bool:
    return len(answer) == 1 and answer[0] in _POLAR


def _stems(tokens: Iterable[_Token]) -> set[str]:
    return {stem(token) for token in tokens if isinstance(token, str) and token not in _STOP}


def _stands_at(text: Sequence[_Token], place: int, answer: Sequence[_Token]) -> bool:
    return all(_same(text[place + offset], token) for offset, token in enumerate(answer))


def _same(left: _Token, right: _Token) -> bool:
    """Amounts are the same where one reading of each is, and the units do not contradict each other."""
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    if left.unit and right.unit and left.unit != right.unit:
        return False
    return any(math.isclose(one, other, rel_tol=1e-9) for one in left.values for other in right.values)


@remember(1_024)
def _tokens(text: str, scale: float) -> tuple[_Token, ...]:
    """Words and amounts in order; remembered, for the strategies of one set retrieve the same texts."""
    plain = _plain(_CITATION.sub(" ", text))
    found: list[_Token] = []
    place = 0
    for match in _AMOUNT.finditer(plain):
        found += _words(plain[place : match.start()])
        found.append(_amount(match, scale))
        place = match.end()
    return (*found, *_words(plain[place:]))


def _amount(match: re.Match[str], scale: float) -> _Amount:
    """An amount in brackets may be a negative one, as accounts write it; one without a scale may be in `scale`."""
    value = float(match["number"].replace(",", ""))
    if match["sign"] or match["inner"]:
        value = -value
    own = match["scale"] or match["short"]
    unit = UNITS.get(" ".join((match["mark"] or match["currency"] or match["unit"] or "").split()), "")
    values = [value * SCALES[own]] if own else [value]
    if not own and scale != 1.0 and unit != "%":
        values.append(value * scale)
    text = match.string
    if text[match.start() - 1 : match.start()] == "(" and text[match.end() : match.end() + 1] == ")":
        values += [-each for each in values]
    return _Amount(tuple(values), unit)


def _plain(text: str) -> str:
    """Lower case, without accents and possessives."""
    lower = text.casefold()
    if not lower.isascii():
        apart = unicodedata.normalize("NFKD", few_marks(lower))
        bare = "".join(each for each in apart if unicodedata.combining(each) not in _ACCENTS)
        lower = _LETTER.sub(r" \g<0> ", unicodedata.normalize("NFC", bare))
    return _POSSESSIVE.sub("", lower)


def _words(plain: str) -> list[str]:
    return [word for word in _WORD.findall(_JOINED.sub("", plain)) if word not in _ARTICLES]
