"""What a question asks to be looked up in tables: a line item, its measure and its period. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from crag.generation.line_items import CONCEPT, item_tokens, plain_label, plain_stems
from crag.generation.periods import Period, periods_in
from crag.text.words import stem, words

Measure = Literal["amount", "percent", "change", "per share"]

MOST_WORDS = 9
"""A question with more words that say something asks for more than a cell."""
MOST_CHARACTERS = 2_000

_ASKS = re.compile(r"\b(?:what(?:'s)?|how (?:much|many)|give|state|report|tell)\b", re.IGNORECASE)
_ASKS_MORE = re.compile(
    r"\b(?:why|who|whom|where|when|which|how (?!much|many)\w+|explain|describe|compare|driv\w+|reasons?|whether|caus\w+"
    r"|ratios?|average|mean|cagr|compound|turnover|days|divided|defined|sum of|combined|versus|vs|highest|lowest"
    r"|largest|smallest|most|least|more than|less than|name|types?|kinds?|purpose|method|approach|policy|policies"
    r"|mainly|expected|forecast|guidance|estimated useful)\b",
    re.IGNORECASE,
)
_MEASURES: tuple[tuple[Measure, re.Pattern[str]], ...] = (
    ("per share", re.compile(r"\bper (?:common |ordinary )?share\b|\beps\b", re.IGNORECASE)),
    (
        "change",
        re.compile(
            r"\b(?:chang\w+|increas\w+|decreas\w+|grow\w*|grew|declin\w+|r[io]se|fell|variance|differ\w+|favorable)\b"
            r"|\bvs\b|\bversus\b",
            re.IGNORECASE,
        ),
    ),
    ("percent", re.compile(r"%|\bper ?cent\w*|\brates?\b|\bproportion\b|\bshare of\b|\bmargins?\b", re.IGNORECASE)),
)
_PERIOD_WORDS = re.compile(
    r"\b(?:fiscal|fy|cy|calendar|years?|quarters?|months?|weeks?|ended|ending|ends?|beginning|as of|as at|during|period"
    r"|date|january|february|march|april|may|june|july|august|september|october|november|december|three|six|nine"
    r"|twelve|thirteen|first|second|third|fourth|half|q[1-4]|[1-4]q|at the close|year[- ]end|full)\b"
    r"|\b\d[\d/.-]*(?:st|nd|rd|th)?\b|\b(?:fy|cy|q[1-4])\s?'?\d\d(?:\d\d)?\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\b(?:totals?|altogether|in all|overall|sum|amounts?)\b", re.IGNORECASE)
_DATE = re.compile(r"\b(?:is|was|are|were) the (?:\w+ ){0,3}dates?\b|\bwhat dates?\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\w.,])(?!(?:19|20)\d\d(?!\d))\d{1,9}(?:[.,/]\d{1,9}){0,3}")
_COSTS = re.compile(r"(\bhow much (?:do|does|did|will|would) [^?]{1,200}?) costs?\b", re.IGNORECASE)
_OPENING = re.compile(r"\b(?:beginning|start|opening)\b", re.IGNORECASE)
_FILLER = frozenset(
    stem(word)
    for word in """what how much many give state report tell me value figure number amount total company business was
    were is are have has had do did does own hold held spend spent pay paid record recorded reported recognize
    recognized make made use used generate generated employ employed incur incurred post posted firm entity group rely
    relying response detail please level balance overall consolidated its their end beginning close people usd dollar
    dollars there in on at for us u.s segment segments division size worth sum question following get earn earned book
    booked show shown according""".split()
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a look-up question asks for: the tokens to be met, the stems as they are written, a measure and a period.

    `firm`: it surely asks for a figure, so that no other row's may stand for it. `opening`: of the period's beginning.
    `total`: it says so itself. `date`: it asks for one, which is no amount. `item`: the words of the question without
    its period, a blank apart. `sizes`: its numbers that are no years.
    """

    tokens: frozenset[str]
    plain: frozenset[str]
    measure: Measure
    period: Period | None
    firm: bool
    opening: bool = False
    total: bool = False
    date: bool = False
    item: str = ""
    sizes: frozenset[str] = frozenset()

    def without(self, label: str) -> frozenset[str] | None:
        """The tokens of the question beside a label that it says word by word; None where it does not."""
        for name in (label.replace("’", "'"), plain_label(label)):
            name = " ".join(words(without_periods(name)))
            before, found, after = f" {self.item} ".partition(f" {name} ")
            if found and " " in name:
                rest = frozenset(item_tokens(f"{before} {after}"))
                # "spend on property" is another item than "property".
                said = rest.union(item_tokens(name))
                terms = {token for token in item_tokens(self.item) if token.startswith(CONCEPT)}
                return rest - _FILLER if terms <= said else None
        return None


def wanted_of(question: str) -> Wanted | None:
    """What a question asks to be looked up; None where it asks for anything else, or for several periods."""
    asked = question[:MOST_CHARACTERS].replace("’", "'")
    bare = _COSTS.sub(r"\1", asked)
    if not _ASKS.search(bare) or _ASKS_MORE.search(bare):
        return None
    periods = periods_in(bare)
    if len({(each.year, each.month, each.day) for each in periods}) > 1:
        return None
    item = without_periods(bare).strip(" ?.")
    tokens = frozenset(item_tokens(item)) - _FILLER
    if "cash" in tokens and not any(token.startswith(CONCEPT) for token in tokens):
        tokens = tokens - {"cash"} | {f"{CONCEPT}cash"}
    if not tokens or len(tokens) > MOST_WORDS:
        return None
    counted = re.search(r"\bhow (?:much|many)\b", bare, re.IGNORECASE) is not None
    return Wanted(
        tokens=tokens,
        plain=plain_stems(item) - _FILLER,
        measure=measure_of(bare),
        period=periods[0] if periods else None,
        firm=counted or any(token.startswith(CONCEPT) for token in tokens),
        opening=is_opening(bare),
        total=_TOTAL.search(bare) is not None,
        date=_DATE.search(bare) is not None,
        item=" ".join(words(item)),
        sizes=sizes_in(bare),
    )


def measure_of(text: str) -> Measure:
    """What a question or the name of a row or column is about, by its words; an amount where it says nothing else."""
    return next((measure for measure, form in _MEASURES if form.search(text)), "amount")


def is_opening(text: str) -> bool:
    """Whether it is about the beginning of a period."""
    return _OPENING.search(text) is not None


def sizes_in(text: str) -> frozenset[str]:
    """The numbers of a text that are no years: they tell a main of 30 inches from one of 66."""
    return frozenset(_SIZE.findall(text))


def without_periods(text: str) -> str:
    """The text without the words and figures that name periods."""
    return _PERIOD_WORDS.sub(" ", text)
