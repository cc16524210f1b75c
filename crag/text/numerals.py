"""The numbers that a text holds, each as the values that it may stand for. Pure, in time that grows with the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

Span = tuple[int, int]

SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "mm": 1e6, "bn": 1e9}
SCALES |= {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
UNITS = {"%": "%", "percent": "%", "per cent": "%", "us$": "$", "$": "$", "usd": "$", "dollar": "$", "€": "€"}
UNITS |= {"eur": "€", "euro": "€", "£": "£", "gbp": "£", "pound": "£", "¥": "¥", "jpy": "¥", "yen": "¥"}

_IN_SCALE = re.compile(
    r"\b(?:in|of)\s(?:[\w.]{1,12}\s|[$€£¥]\s?){0,3}(thousand|million|billion)s\b|\b(000)['’]?s\b|[$€£]\s?(000)\b",
    re.IGNORECASE,
)
LONGEST = 24
"""A number of more digits is a code: it is compared letter by letter."""

_DIGITS = r"\d++(?>(?:[.,'’\u00a0\u2009\u202f]\d++)*)"
_NUMBER = re.compile(
    rf"""(?:(?P<currency>[$€£¥]|\b(?:USD|EUR|GBP|JPY)(?=[\s\u00a0]?[-−.\d]))[\s\u00a0]?[-−+(]?)?
    (?P<digits>{_DIGITS}|(?<![\w.])\.\d++)
    (?P<suffix>[^\W\d_]{{0,8}})
    (?:[\s\u00a0-]?(?P<scale>thousand|million|billion|trillion|mn|mm|bn|hundred)s?\b)?
    (?:[\s\u00a0]?\)?(?P<mark>%|x\b)|[\s\u00a0-](?P<unit>percent|per\scent|usd|dollar|eur|euro|gbp|pound|jpy|yen)s?\b)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{1,3}(?:[,'’\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})*,\d{3}(?:\.\d+)?")
_CONTINENTAL = re.compile(r"\d{1,3}(?:[.\u00a0\u2009\u202f]\d{3})+(?:,\d+)?")
_DECIMAL = re.compile(r"\d*\.\d+")
_COMMA = re.compile(r"\d+,\d+")
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_BEFORE = re.compile(r"(?P<joined>[^\W_]*[^\W\d_])$|[^\W\d_]+[-‐]$")
_APART = 12  # characters between the two of a range
_RANGE = re.compile(r"\s?[-–—]\s?|\s(?:to|and|or|through)\s[$€£¥]?")

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_WORDS: dict[str, int] = {word: value for value, word in enumerate([*_ONES.split(), "eighteen", "nineteen"])} | {
    word: 10 * tens for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_MULTIPLES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
        fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split(),
        1,
    )
}
_WORD = re.compile(rf"\b(?:{'|'.join([*_WORDS, *_MULTIPLES, *_ORDINALS, 'dozen'])})\b", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s-]{1,2}(?:and\s)?")


@dataclass(frozen=True, slots=True)
class Number:
    """The characters [start, end) of a text, and the `values` that they may stand for, the likeliest first.

    `steps` are what the last digit shown counts of each value: 1e8 of "1.6 billion". `unit` is "%", a currency's
    sign, or "" where none is written. `scaled`: it says itself whether it counts thousands, millions or billions.
    code: it is compared letter by letter ("10.2.1", "A320"), and has no value. `values` are without the sign.
    """

    start: int
    end: int
    text: str
    values: tuple[float, ...]
    steps: tuple[float, ...] = (1.0,)
    unit: str = ""
    scaled: bool = False
    kind: Literal["digits", "words", "ordinal", "code"] = "digits"


def numbers_in(text: str, taken: Sequence[Span] = ()) -> list[Number]:
    """All numbers in digits and in words, in order; `taken` are the spans, in order, that are something else."""
    found = _beside(text, [*_without(_digits(text), taken)])
    spans = sorted([*taken, *((each.start, each.end) for each in found)])
    return sorted([*found, *_without(_words(text), spans)], key=lambda each: each.start)


def scales_in(text: str) -> list[str]:
    """What a table's amounts are counted in, as its head or caption says: "million" of "(in millions of US $)"."""
    return [(match[1] or "thousand").lower() for match in _IN_SCALE.finditer(text)]


def _without(found: Iterator[Number], taken: Sequence[Span]) -> Iterator[Number]:
    """Those that lie in none of the spans; both are in order."""
    at = 0
    for number in found:
        while at < len(taken) and taken[at][1] <= number.start:
            at += 1
        if at == len(taken) or taken[at][0] >= number.end:
            yield number


def _digits(text: str) -> Iterator[Number]:
    done = 0
    for match in _NUMBER.finditer(text):
        digits, suffix, money = match["digits"], match["suffix"].casefold(), match["currency"]
        start, last = match.start("digits"), match.end("suffix")
        name = "" if money else _name_before(text[max(done, start - LONGEST) : start])
        done, joined = match.end(), start == done > 0 and not money
        coded = bool(name) or joined or len(digits) > LONGEST or (suffix and not _is_unit(match["suffix"], bool(money)))
        values = () if coded else readings(digits)
        if not values:
            if not coded and "," in digits:  # years, or pages, one after another
                continue
            last = last if coded else match.end("digits")
            yield Number(start - len(name), last, text[start - len(name) : last], (), kind="code")
            continue
        own = (match["scale"] or (suffix if suffix in SCALES else "")).casefold()
        scale = 1e2 if own == "hundred" else SCALES.get(own, 1.0)
        said = (match["mark"] or money or match["unit"] or "").casefold()
        start = match.start() if money else start
        yield Number(
            start,
            match.end(),
            text[start : match.end()],
            tuple(value * scale for value, _ in values),
            tuple(step * scale for _, step in values),
            UNITS.get(" ".join(said.split()), ""),
            scale > 1,
            "ordinal" if suffix in _ORDINAL else "digits",
        )


def _name_before(text_before: str) -> str:
    """The letters that stand at digits and make a name of both: "B" of "B12", "GPT-" of "GPT-4"; not "mid-" of 2018."""
    found = _BEFORE.search(text_before)
    return found.group() if found and (found["joined"] or any(map(str.isupper, found.group()))) else ""


def _is_unit(suffix: str, money: bool) -> bool:
    """Whether letters behind digits are a scale, an ordinal's or a measure's: "5m", "2nd", "25kg"; not "5G", "3D"."""
    low = suffix.casefold()
    if low in _ORDINAL or (low in SCALES and (money or len(low) > 1)):
        return True
    return len(suffix) <= 4 and suffix.islower()


def readings(digits: str) -> tuple[tuple[float, float], ...]:
    """What a run of digits with points and commas may stand for, each with what its last digit counts; none if nothing.

    Three digits behind a comma are thousands; behind a point they may be.
    """
    if digits.isdigit():
        return ((float(digits), 1.0),)
    found: list[tuple[float, float]] = []
    if _GROUPED.fullmatch(digits) or _INDIAN.fullmatch(digits):
        found.append(_value(re.sub(r"[^\d.]", "", digits)))
    elif _COMMA.fullmatch(digits):
        found.append(_value(digits.replace(",", ".")))
    if _DECIMAL.fullmatch(digits):
        found.append(_value(digits))
    if _CONTINENTAL.fullmatch(digits):
        found.append(_value(re.sub(r"[^\d,]", "", digits).replace(",", ".")))
    return tuple(dict.fromkeys(found))


def _value(plain: str) -> tuple[float, float]:
    return float(plain), 10.0 ** -len(plain.partition(".")[2])


def _beside(text: str, found: list[Number]) -> list[Number]:
    """The first of a range also as what the second says it counts: "10 to 15 million"."""
    for place, (left, right) in enumerate(pairwise(list(found))):
        near = right.scaled and not left.scaled and left.values and right.start - left.end < _APART
        if near and _RANGE.fullmatch(text, left.end, right.start):
            scale = next((each for each in (1e12, 1e9, 1e6, 1e3) if right.values[0] >= each), 1.0)
            scaled = left.values[0] * scale, left.steps[0] * scale
            found[place] = replace(left, values=(*left.values, scaled[0]), steps=(*left.steps, scaled[1]))
    return found


def _words(text: str) -> Iterator[Number]:
    """Numbers in words: "twelve", "two hundred and five thousand", "eleventh"."""
    group: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if group and not _BETWEEN.fullmatch(text, group[-1].end(), match.start()):
            yield _parse_worded(text, group)
            group = []
        group.append(match)
    if group:
        yield _parse_worded(text, group)


def _parse_worded(text: str, group: Sequence[re.Match[str]]) -> Number:
    start, end = group[0].start(), group[-1].end()
    total = current = 0.0
    kind: Literal["words", "ordinal"] = "words"
    for match in group[:LONGEST]:
        word = match.group().casefold()
        if word in _WORDS:
            current += _WORDS[word]
        elif word in _ORDINALS:
            current, kind = current + _ORDINALS[word], "ordinal"
        elif word == "dozen":
            current = (current or 1) * 12
        elif word == "hundred":
            current = (current or 1) * 100
        else:
            total, current = total + (current or 1) * _MULTIPLES[word], 0.0
    return Number(start, end, text[start:end], (total + current,), kind=kind, scaled=total > 0)


def is_amount(text: str) -> bool:
    """Whether a cell's text is figures and signs alone."""
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without these [start, end) spans, which are in order and apart."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
