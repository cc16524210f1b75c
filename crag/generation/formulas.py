"""The calculation that a question asks for: a formula over values to be looked up, in its own words. Pure, linear.

What a question defines ("X is defined as: A / B") goes before what its words mean. A question that is not understood
wholly has no formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from crag.core.types import CalculationKind
from crag.generation.periods import PERIOD, group_periods, move_years, when

MOST_CHARACTERS = 2_000
MOST_LEAVES = 8
"""Cells that one answer may be worked out from."""
_MOST_YEARS = 6
_DEEPEST = 6

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
    """`percent`: its value is shown as a percentage. `digits` and `scale`: as the question wants it shown."""

    kind: CalculationKind
    root: Expression
    percent: bool = False
    digits: int | None = None
    scale: str = ""


def leaves_of(root: Expression) -> tuple[Leaf, ...]:
    """The values to be looked up, each once, in order."""
    if isinstance(root, Node):
        return tuple(dict.fromkeys((*leaves_of(root.left), *leaves_of(root.right))))
    return (root,) if isinstance(root, Leaf) else ()


_RANGES = frozenset({"to", "through", "-", "–"})
_COUNT = re.compile(r"(?i)\b([2-5]|two|three|four|five)[ -](?:fiscal )?years?\b")
_NUMBERS = {"zero": 0, "no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "whole": 0, "tenth": 1}
_PRIOR = re.compile(
    r"(?i)\b(?:year[- ](?:over|on)[- ]year|y-?o-?y|(?:from|over|against|versus|vs\.?|(?:as )?compared (?:to|with)"
    r"|relative to) (?:the |its )?(?:prior|previous|preceding|last) (?:fiscal )?year)\b"
)

_INSTRUCTS = re.compile(
    r"(?i)(?:please |and |then )?(?:round|answer|bas(?:e|ing)|calculate|compute|address|provide|give|express|respond"
    r"|report|use|using|show|here's|we (?:need|want|would)|state)\b"
)
_RESTRICTS = re.compile(r"(?i)\b(?:exclud\w+|adjust\w+|except|ignor\w+|without|instead|unless)\b")
_ASIDE = re.compile(
    r"(?i)\((?:in|answer|give|round|expressed)\b[^()]*\)"
    r"|\b(?:and )?round(?:ed)? (?:it )?to\b[^.?]*"
)
_IN_SCALE = re.compile(r"(?i)\bin (?:usd |us ?\$ ?|\$ ?)?(thousand|million|billion)s?\b(?: of)?(?: us)?(?: dollars)?")
_DIGITS = re.compile(
    r"(?i)\b(\d|zero|no|one|two|three|four) decimals?\b"
    r"|\bnearest (whole|tenth)\b"
    r"|\b(two|one|\d) decimal places?\b"
)
_PERCENTS = re.compile(
    r"(?i)\bin (?:units of )?percent"
    r"|\bas an? (?:percent|%)"
)
_ASK = re.compile(r"(?i)\b(?:what(?:'s)?|by how much|how much|how many|calculate|compute)\b")
_DEFINED = re.compile(r"(?i)(?:,? (?:is|are|which is))? ?\b(?:defined|calculated) as:? ")
_DEFINE = re.compile(r"(?i)define (?P<name>[^.?:;]{2,80}) as:? ")
_BRACKETS = re.compile(r"(?i)\((?:(?:defined|calculated) as:? )?([^()]{3,120})\)")
_STOP = re.compile(r"(?<=[.?!])\s")
_SHORT_NAME = re.compile(r"\(([A-Z][A-Za-z&]{1,9})\)")
_SUBJECT = re.compile(r"(?<!\w)[A-Z][\w&.-]{0,30}(?: (?:& |and )?[A-Z][\w&.-]{0,30}){0,4}(?:'s|(?<=s)')(?= )")
_FOR = re.compile(r" (?:for|of|did) ([A-Z][\w&.-]{0,30}(?: (?:& )?[A-Z][\w&.-]{0,30}){0,4})(?=[?.,]|$)")
_SIGN = re.compile(
    r"(?i) [-–−] |[*×÷/+]"
    r"|\b(?:divided by|multiplied by|times|minus|less|plus)\b"
)
_SIGNS: Mapping[str, Sign] = {
    **{"+": "+", "plus": "+", "-": "−", "–": "−", "−": "−", "minus": "−", "less": "−"},
    **{"*": "×", "×": "×", "times": "×", "multiplied by": "×", "/": "÷", "÷": "÷", "divided by": "÷"},
}

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
_AVERAGED = re.compile(r"(?i)(?:the )?(?:average|change in)\b")
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
    if len(text) > MOST_CHARACTERS or not any(form.search(text) for form in (_ARITHMETIC, _DEFINED, _DEFINE)):
        return None
    said = _read_sentences(text)
    if said is None:
        return None
    asked, defined = said
    scale, digits = _IN_SCALE.search(text), _DIGITS.search(text)
    percents = _PERCENTS.search(text) is not None
    made = _from_definition(asked, defined, percents) if defined else _from_words(asked, percents)
    if made is None or not 2 <= len(leaves_of(made.root)) <= MOST_LEAVES:
        return None
    number = next(filter(None, digits.groups()), "").lower() if digits else ""
    shown = int(number) if number.isdigit() else _NUMBERS.get(number)
    return replace(made, digits=shown, scale=scale[1].lower() if scale else "")


def _read_sentences(text: str) -> tuple[str, dict[str, str]] | None:
    """The question alone, and what each name is defined as; None where a sentence says anything else of it."""
    asked, defined = "", dict[str, str]()
    parts = _STOP.split(text)
    asking = next((part for part in parts if part.endswith("?") and _ASK.search(part)), None)
    for part in parts:
        bare = part.strip(" .?!")
        definition, named = _DEFINED.search(bare), _DEFINE.match(bare)
        if named:
            defined[named["name"]] = bare[named.end() :]
        elif definition and not (part == asking and "(" in bare[: definition.start() + 2][-2:]):
            name = bare[: definition.start()]
            defined[name] = bare[definition.end() :]
            asked = asked or (name if _ASK.search(name) else "")
        elif part is asking or (asking is None and not asked and _ASK.search(bare)):
            asked = bare
        elif not _INSTRUCTS.match(bare) or _RESTRICTS.search(bare):
            return None
    asked = _IN_SCALE.sub(" ", _ASIDE.sub(" ", asked))
    starts = [match.start() for match in _ASK.finditer(asked)]
    if not starts:
        return None
    asked = asked[starts[-1] :]
    for match in _BRACKETS.finditer(asked):
        if _SIGN.search(match[1]) and not defined:
            return asked[: match.start()] + asked[match.end() :], {asked[: match.start()]: match[1]}
    return " ".join(asked.split()).strip(" ,;:"), defined


# What a question defines


def _from_definition(asked: str, defined: Mapping[str, str], percents: bool) -> Formula | None:
    spans = group_periods(asked)
    default = spans[0][2][0] if len(spans) == 1 and len(spans[0][2]) == 1 else ""
    subject = _SUBJECT.search(asked)
    named = _FOR.search(asked)
    names = {_bare(name): said for name, said in defined.items()}
    names |= {_bare(short[1]): said for name, said in defined.items() if (short := _SHORT_NAME.search(name))}
    head = f" {_bare(asked)} "
    root = next((said for name, said in names.items() if f" {name} " in head or name in ("ratio", head.strip())), None)
    if root is None:
        return None
    whose = subject[0] if subject else f"{named[1]}'s" if named else ""
    parsed = _Definition(names, default, whose).parse(root)
    if parsed is None:
        return None
    return Formula("defined", parsed, percents and not any(each == 100 for each in _constants(parsed)))


def _bare(name: str) -> str:
    """A name without case, brackets, articles and periods, as it is compared."""
    plain = PERIOD.sub(" ", _SHORT_NAME.sub(r" \1 ", name))
    return " ".join(word for word in re.findall(r"[\w&'/-]+", plain.casefold()) if word not in ("the", "a", "here"))


def _constants(root: Expression) -> Iterator[float]:
    if isinstance(root, Node):
        yield from (*_constants(root.left), *_constants(root.right))
    elif isinstance(root, float):
        yield root


@dataclass(frozen=True, slots=True)
class _Definition:
    """Reads what is defined: sums of products of brackets, numbers, other defined names, averages and changes."""

    names: Mapping[str, str]
    default: str
    subject: str

    def parse(self, text: str, depth: int = 0) -> Expression | None:
        if depth > _DEEPEST:
            return None
        parts = _split_signs(text)
        if parts is None:
            return None
        terms: list[tuple[Sign, Expression]] = []
        for sign, part in parts:
            made = self._atom(part, depth)
            if made is None:
                return None
            if sign in ("×", "÷") and terms:
                before, left = terms.pop()
                terms.append((before, Node(sign, left, made)))
            else:
                terms.append((sign, made))
        return reduce(lambda left, term: Node(term[0], left, term[1]), terms[1:], terms[0][1])

    def _atom(self, text: str, depth: int) -> Expression | None:
        text = text.strip(" ,;:")
        if text.startswith("(") and text.endswith(")"):
            return self.parse(text[1:-1], depth + 1)
        if re.fullmatch(r"\d{1,3}", text):
            return float(text)
        if (name := _bare(text)) in self.names and not PERIOD.search(text):
            return self.parse(self.names[name], depth + 1)
        if _AVERAGED.match(text):
            made = _over_periods(text, self._leaf)
            return made[1] if made else None
        return self._leaf(text, "")

    def _leaf(self, text: str, period: str) -> Expression | None:
        leaf = _leaf(text, period or self.default)
        return leaf and replace(leaf, item=f"{self.subject} {leaf.item}".strip())


def _split_signs(text: str) -> list[tuple[Sign, str]] | None:
    """The parts outside brackets, each with the sign before it; None where brackets don't close or a part is empty."""
    depth, at = 0, 0
    sign: Sign = "+"
    found: list[tuple[Sign, str]] = []
    marks = sorted(
        [
            *((m.start(), m.end(), m[0]) for m in _SIGN.finditer(text)),
            *((m.start(), m.end(), m[0]) for m in re.finditer(r"[()]", text)),
        ]
    )
    for start, end, mark in marks:
        if mark in "()":
            depth += 1 if mark == "(" else -1
            if depth < 0:
                return None
        elif depth == 0:
            found.append((sign, text[at:start]))
            sign, at = _SIGNS[mark.strip().casefold()], end
    found.append((sign, text[at:]))
    return found if depth == 0 and all(part.strip() for _, part in found) else None


# What its words mean


def _from_words(asked: str, percents: bool) -> Formula | None:
    if _NOT_PLAIN.search(asked):
        return None
    made = _over_periods(asked, _expression, percents)
    if made is None:
        return _of_two(asked, "")
    kind, root, item = made
    shares = kind in ("average", "change") and (each := _of_two(item, "2000")) is not None and each.percent
    return Formula(kind, root, kind in ("percent change", "annual growth") or shares)


def _expression(text: str, period: str) -> Expression | None:
    made = _of_two(text, period)
    return made.root if made else _leaf(text, period)


def _over_periods(
    text: str, make: Callable[[str, str], Expression | None], percents: bool = False
) -> tuple[CalculationKind, Expression, str] | None:
    """The change, average or sum over the periods that are named of what `make` makes of an item, and the item."""
    groups = group_periods(text)
    if len(groups) != 1:
        return None
    start, end, periods, how = groups[0]
    rest = _PRIOR.sub(" ", f"{text[:start]} {text[end:]}")
    moved = _find_move(" ".join(rest.split()), percents)
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


def _find_move(text: str, percents: bool) -> tuple[CalculationKind, str] | None:
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
    if kind == "change" and (percents or "growth" in match[0].casefold()):
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
