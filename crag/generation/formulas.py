"""The calculation that a question asks for: a formula over values to be looked up, in its own words. Pure, linear.

A question that is not understood wholly has no formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from crag.core.types import CalculationKind
from crag.generation.periods import group_periods, move_years, when
from crag.text.sentences import sentences

MOST_CHARACTERS = 2_000
MOST_LEAVES = 8
"""Cells that one answer may be worked out from."""
_MOST_YEARS = 6

Sign = Literal["+", "−", "×", "÷", "^"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value to be looked up: its item in the question's words, and its period, empty where none is named."""

    item: str
    period: str = ""

    @property
    def question(self) -> str:
        return f"What was {self.item}{self.period and f' in {self.period}'}?"


@dataclass(frozen=True, slots=True)
class Node:
    """`sign` between two expressions; "^" raises to a power."""

    sign: Sign
    left: Expression
    right: Expression


Expression = Leaf | Node | float


@dataclass(frozen=True, slots=True)
class Formula:
    """`percent`: its value is shown as a percentage. `scale`: as the question wants it shown."""

    kind: CalculationKind
    root: Expression
    percent: bool = False
    scale: str = ""


def leaves_of(root: Expression) -> tuple[Leaf, ...]:
    """The values to be looked up, each once, in order."""
    if isinstance(root, Node):
        return tuple(dict.fromkeys((*leaves_of(root.left), *leaves_of(root.right))))
    return (root,) if isinstance(root, Leaf) else ()


_RANGES = frozenset({"to", "through", "-", "–"})
_COUNT = re.compile(r"(?i)\b([2-5]|two|three|four|five)[ -](?:fiscal )?years?\b")
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
_PRIOR = re.compile(
    r"(?i)\b(?:year[- ](?:over|on)[- ]year|y-?o-?y|(?:from|over|against|versus|vs\.?|(?:as )?compared (?:to|with)"
    r"|relative to) (?:the |its )?(?:prior|previous|preceding|last) (?:fiscal )?year)\b"
)

_IN_SCALE = re.compile(r"(?i)\bin (?:usd |us ?\$ ?|\$ ?)?(thousand|million|billion)s?\b(?: of)?(?: us)?(?: dollars)?")
_ASK = re.compile(r"(?i)\b(?:what(?:'s)?|by how much|how much|how many|calculate|compute)\b")

_MOVE = r"(?:change|increase|decrease|growth|decline|difference|variance)(?: ?/ ?\(?(?:increase|decrease)\)?)?(?!\w)"
_OF = r"(?: (?:in|of|for|to|between)(?: the (?:amount|value)(?: (?:of|for))?)?(?!\w))?"
_BEHIND = rf"(?: \((?:decrease|increase|cagr)\))?{_OF}"
_MOVES: Mapping[CalculationKind, re.Pattern[str]] = {
    "percent change": re.compile(
        rf"(?i)(?:\b(?:percentage|percent|per cent)|%) {_MOVE}{_BEHIND}"
        rf"|\b(?:annual )?(?:growth rate|rate of growth){_BEHIND}"
    ),
    "annual growth": re.compile(rf"(?i)\b(?:compound annual growth rate|cagr)\b{_BEHIND}"),
    "change": re.compile(rf"(?i)\b(?:(?:net|nominal) )?{_MOVE}{_BEHIND}"),
    "average": re.compile(
        rf"(?i)\b(?:(?:[2-5]|two|three|four|five)[ -]years? )?(?:average|mean)(?: annual| yearly)?\b{_BEHIND}"
    ),
    "sum": re.compile(
        rf"(?i)\b(?:sum|combined|cumulative)\b{_BEHIND}"
        r"|,? (?:altogether|in total)\b"
    ),
}
_DID = re.compile(r"(?i:\bhow much (?:did|has|have)\b)")
_MOVED = re.compile(
    r"(?i)\b(?:increased?|decreased?|changed?|rise|risen|fall|fallen|declined?|grow|grown|drop|dropped)\b"
)
_NOT_PLAIN = re.compile(r"(?i)\b(?:absolute|percentage points?|basis points?|weighted)\b")
_AS_SHARE = re.compile(
    r"(?i:\b(?:expressed )?as an? (?:percentage|percent|%|share|proportion|fraction) (?:of|to|over)\b)"
)
_WHAT_SHARE = re.compile(r"(?i:\bwhat (?:percentage|percent|share|proportion|%) of\b)")
_VERB = re.compile(r"(?i) (?:is|was|were|are) ")
_OF_TWO: tuple[tuple[CalculationKind, re.Pattern[str], re.Pattern[str]], ...] = (
    ("ratio", re.compile(r"(?i)\bratio (?:of|between)\b"), re.compile(r"(?i) (?:to|over|and) ")),
    (
        "share",
        re.compile(r"(?i)\b(?:percentage|share|proportion|fraction) of\b"),
        re.compile(r"(?i) (?:out of|over|relative to|in|to) "),
    ),
)
_DIVIDED = re.compile(r"(?i) divided by ")
_BETWEEN = re.compile(r"(?i)\bdifference (?:in [\w ]{2,40} )?between\b")
_AND = re.compile(r"(?i) and ")
_NAMED = {
    "operating margin": ("operating income", "revenue"),
    "operating profit margin": ("operating income", "revenue"),
    "gross profit margin": ("gross profit", "revenue"),
    "net profit margin": ("net income", "revenue"),
    "net margin": ("net income", "revenue"),
    "current ratio": ("total current assets", "total current liabilities"),
}
_NAMES = re.compile(rf"(?i)\b({'|'.join(_NAMED)})\b")
_LEAD = re.compile(
    r"(?i)(?:\W*(?:what(?:'s)?|how much|by|is|was|were|are|did|the|value|amount|amounts|of|both|that)\b)+"
)
_NO_ITEM = re.compile(r"(?i)\b(?:average|mean|sum|ratio|divided|combined|cagr|difference|percentage|proportion)\b")
_ARITHMETIC = re.compile(
    r"(?i)\b(?:average|mean|sum|ratio|divided|combined|cagr|growth rate|turnover|margin|altogether|percentage of)\b"
    rf"|\b{_MOVE}|{_DID.pattern}|{_AS_SHARE.pattern}|{_WHAT_SHARE.pattern}|\bproportion of\b"
)


def asks_arithmetic(question: str) -> bool:
    """Whether a question has words for what is worked out from several values, understood or not."""
    return _ARITHMETIC.search(question[:MOST_CHARACTERS]) is not None


def formula_of(question: str) -> Formula | None:
    """The calculation that a question asks for; None where it asks for none, or for one that is not understood."""
    text = " ".join(question[: MOST_CHARACTERS + 1].replace("’", "'").split())
    if len(text) > MOST_CHARACTERS or not _ARITHMETIC.search(text) or len(sentences(text)) > 1:
        return None
    scale = _IN_SCALE.search(text)
    asked = _IN_SCALE.sub(" ", text)
    starts = [match.start() for match in _ASK.finditer(asked)]
    made = _from_words(asked[starts[-1] :].strip(" ,;:.?!")) if starts else None
    if made is None or not 2 <= len(leaves_of(made.root)) <= MOST_LEAVES:
        return None
    return replace(made, scale=scale[1].lower() if scale else "")


def _from_words(asked: str) -> Formula | None:
    if _NOT_PLAIN.search(asked):
        return None
    made = _over_periods(asked, _expression)
    if made is None:
        return _of_two(asked, "")
    kind, root, item = made
    shares = kind in ("average", "change") and (each := _of_two(item, "2000")) is not None and each.percent
    return Formula(kind, root, kind in ("percent change", "annual growth") or shares)


def _expression(text: str, period: str) -> Expression | None:
    made = _of_two(text, period)
    return made.root if made else _leaf(text, period)


def _over_periods(
    text: str, make: Callable[[str, str], Expression | None]
) -> tuple[CalculationKind, Expression, str] | None:
    """The change, average or sum over the periods that are named of what `make` makes of an item, and the item."""
    groups = group_periods(text)
    if len(groups) != 1:
        return None
    start, end, periods, how = groups[0]
    rest = _PRIOR.sub(" ", f"{text[:start]} {text[end:]}")
    moved = _find_move(" ".join(rest.split()))
    if moved is None:
        return None
    kind, item = moved
    if len(periods) == 1 and _PRIOR.search(text):
        periods = (move_years(periods[0], -1), periods[0])
    periods = tuple(sorted(periods, key=when))
    gap = when(periods[-1])[0] - when(periods[0])[0]
    if kind in ("average", "sum"):
        if len(periods) == 2 and gap > 1:
            if how not in _RANGES or gap >= _MOST_YEARS:
                return None
            periods = tuple(move_years(periods[0], place) for place in range(gap + 1))
        said = _COUNT.search(text)
        if said and _NUMBERS.get(said[1].lower(), int(said[1]) if said[1].isdigit() else 0) != len(periods):
            return None
    elif len(periods) != 2:
        return None
    values = [value for period in periods if (value := make(item, period)) is not None]
    if len(values) != len(periods) or len(values) < 2:
        return None
    return kind, _compose(kind, values, float(gap)), item


def _find_move(text: str) -> tuple[CalculationKind, str] | None:
    """What is to be done with the values, and the text without the words that say so."""
    found = [
        (match.start(), place, kind)
        for place, (kind, form) in enumerate(_MOVES.items())
        if (match := form.search(text))
    ]
    if found:
        kind = min(found)[2]
        match = _MOVES[kind].search(text)
    elif (did := _DID.search(text)) and (match := _MOVED.search(text, did.end())):
        kind = "change"
    else:
        return None
    assert match is not None
    if kind == "change" and "growth" in match[0].casefold():
        kind = "percent change"
    return kind, _COUNT.sub(" ", f"{text[: match.start()]} {text[match.end() :]}")


def _compose(kind: CalculationKind, values: Sequence[Expression], years: float) -> Expression:
    first, last = values[0], values[-1]
    if kind == "change":
        return Node("−", last, first)
    if kind == "percent change":
        return Node("÷", Node("−", last, first), first)
    if kind == "annual growth":
        return Node("−", Node("^", Node("÷", last, first), Node("÷", 1.0, years)), 1.0)
    added = reduce(lambda left, right: Node("+", left, right), values)
    return added if kind == "sum" else Node("÷", added, float(len(values)))


def _of_two(text: str, period: str) -> Formula | None:
    """A share, ratio or difference of two items of one period, or each of its own."""
    groups = group_periods(text)
    if len(groups) == 1 and len(groups[0][2]) == 1 and not period:
        start, end, (period,), _ = groups[0]
        text = f"{text[:start]} {text[end:]}"
    text = " ".join(text.split()).strip(" ?.,")
    parted = _part_two(text)
    if parted is None:
        return None
    kind, one, other = parted
    left = _leaf(one, period)
    if left is None:
        return None
    right = _leaf(other, period) or _leaf(f"{left.item} in {other}", "")
    if right is None or left == right:
        return None
    return Formula(kind, Node("−" if kind == "difference" else "÷", left, right), kind == "share")


def _part_two(text: str) -> tuple[CalculationKind, str, str] | None:
    if match := _BETWEEN.search(text):
        parts = _AND.split(text[match.end() :])
        return ("difference", parts[0], parts[1]) if len(parts) == 2 else None
    if match := _WHAT_SHARE.search(text):
        verb = _VERB.search(text, match.end())
        return ("share", text[verb.end() :], text[match.end() : verb.start()]) if verb else None
    if match := _AS_SHARE.search(text):
        return "share", text[: match.start()], text[match.end() :]
    for kind, form, parting in _OF_TWO:
        if match := form.search(text):
            parts = parting.split(text[match.end() :])
            return (kind, parts[0], parts[1]) if len(parts) == 2 else None
    if match := _NAMES.search(text):
        one, other = (f"{text[: match.start()]}{item}{text[match.end() :]}" for item in _NAMED[match[1].casefold()])
        return ("ratio" if "ratio" in match[1].casefold() else "share"), one, other
    parts = _DIVIDED.split(text)
    return ("ratio", parts[0], parts[1]) if len(parts) == 2 else None


def _leaf(text: str, period: str) -> Leaf | None:
    """An item with its own period or else the one that is given; None where it names several, or no item."""
    groups = group_periods(text)
    if groups:
        start, end, own, _ = groups[0]
        if len(groups) > 1 or len(own) > 1:
            return None
        text, period = f"{text[:start]} {text[end:]}", own[0]
    item = " ".join(text.split()).strip(" ?.,;:")
    if lead := _LEAD.match(item):
        item = item[lead.end() :].strip()
    if not any(letter.isalpha() for letter in item) or _NO_ITEM.search(item):
        return None
    return Leaf(item, period)
