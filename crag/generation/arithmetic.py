"""What a question wants worked out from cells of tables: a change, average, sum, share, ratio or difference. Pure.

A question that is not understood wholly has no result. Each of its items is looked up like a cell that is asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.core.types import CalculationKind, Chunk, RetrievedChunk, WebPage
from crag.generation.cells import FoundCell, Lookup, look_up, reach_figure
from crag.generation.periods import group_periods, move_years, when
from crag.generation.wanted import Measure, wanted_of
from crag.text.numerals import SCALES, numbers_in
from crag.text.sentences import sentences

MOST_CHARACTERS = 500
MOST_ITEMS = 8
"""Cells that one answer may be worked out from."""

_MOVE = r"(?:change|increase|decrease|growth|decline|difference|variance)(?: ?/ ?\(?(?:increase|decrease)\)?)?(?!\w)"
_OF = r"(?: \((?:decrease|increase)\))?(?: (?:in|of|for|to|between)(?: the (?:amount|value)(?: (?:of|for))?)?(?!\w))?"
_OVER_PERIODS: Mapping[CalculationKind, re.Pattern[str]] = {
    "percent change": re.compile(
        rf"(?i)(?:\b(?:percentage|percent|per cent)|%) {_MOVE}{_OF}|\b(?:annual )?(?:growth rate|rate of growth){_OF}"
    ),
    "change": re.compile(rf"(?i)\b(?:(?:net|nominal) )?{_MOVE}{_OF}"),
    "average": re.compile(
        rf"(?i)\b(?:(?:[2-5]|two|three|four|five)[ -]years? )?(?:average|mean)(?: annual| yearly)?\b{_OF}"
    ),
    "sum": re.compile(rf"(?i)\b(?:sum|combined|cumulative)\b{_OF}|,? (?:altogether|in total)\b"),
}
"""What is said of one item in several periods, with the words that lead to it."""
_HOW_MUCH = r"\bhow much (?:did|has|have)\b"
_DID = re.compile(rf"(?i){_HOW_MUCH}")
_MOVED = re.compile(
    r"(?i)\b(?:increased?|decreased?|changed?|rise|risen|fall|fallen|declined?|grow|grown|drop|dropped)\b"
)
_OUT_OF = re.compile(r"(?i) (?:out of|over|relative to|in|to) ")
_WHAT_SHARE = r"\bwhat (?:percentage|percent|share|proportion|%) of\b"
_AS_SHARE = r" (?:expressed )?as an? (?:percentage|percent|%|share|proportion|fraction) (?:of|to|over) "
_OF_TWO: tuple[tuple[CalculationKind, re.Pattern[str], re.Pattern[str], bool], ...] = (
    ("difference", re.compile(r"(?i)\bdifference (?:in [\w ]{2,40} )?between\b"), re.compile(r"(?i) and "), False),
    ("share", re.compile(rf"(?i){_WHAT_SHARE}"), re.compile(r"(?i) (?:is|was|were|are) "), True),
    ("share", re.compile(""), re.compile(rf"(?i){_AS_SHARE}"), False),
    ("ratio", re.compile(r"(?i)\bratio (?:of|between)\b"), re.compile(r"(?i) (?:to|over|and) "), False),
    ("share", re.compile(r"(?i)\b(?:percentage|share|proportion|fraction) of\b"), _OUT_OF, False),
)
"""What is said of two items: what stands before them and between them, and whether the second is named first."""
_RANGES = frozenset({"to", "through", "-", "–"})
_COUNT = re.compile(r"(?i)\b([2-5]|two|three|four|five)[ -](?:fiscal )?years?\b")
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5}
_ASK = re.compile(r"(?i)\b(?:what(?:'s)?|by how much|how much|how many|calculate|compute)\b")
_LEAD = re.compile(
    r"(?i)(?:\W*(?:what(?:'s)?|how much|by|is|was|were|are|did|the|value|amount|amounts|of|both|that)\b)+"
)
_NOT_PLAIN = re.compile(
    r"(?i)\b(?:absolute|percentage points?|basis points?|weighted|in (?:thousand|million|billion)s?)\b"
)
_NO_ITEM = re.compile(r"(?i)\b(?:average|mean|sum|ratio|divided|combined|cagr|difference|percentage|proportion)\b")
_ARITHMETIC = re.compile(
    r"(?i)\b(?:average|mean|sum|ratio|divided|combined|cagr|growth rate|turnover|margin|altogether|percentage of)\b"
    rf"|\b{_MOVE}|{_HOW_MUCH}|{_AS_SHARE}|{_WHAT_SHARE}|\bproportion of\b"
)

_FIGURE = re.compile(r"(?>(?:\d++[.,]?+)+)|\.\d++")
_NEGATIVE = re.compile(r"[\s$€£¥]*[(−–-]")
_OUT = re.compile(
    r"\b(?:loss|losses|expenses?|costs?|used|disposals?|purchases?|payments?|paid|dividends?|repurchases?|buybacks?|capex"
    r"|capital expenditures?|liabilit(?:y|ies)|depreciation|amortization|cogs|tax(?:es)?|sg&a|r&d)\b",
    re.IGNORECASE,
)
_IN = re.compile(r"\b(?:income|earnings|profits?|gains?|provided|benefit|assets?|equity|increase)\b", re.IGNORECASE)
"""Of an item that is spent or lost, brackets may only say so: what it changed by is then open, what it is, is not."""


@dataclass(frozen=True, slots=True)
class Item:
    """A value to be looked up, in the question's words, and its period, empty where none is named."""

    name: str
    period: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done, and with which values: of a change the later one first."""

    kind: CalculationKind
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Worked:
    """A result with the cells that it is worked out from, as `crag.core.types.Calculation` has them."""

    kind: CalculationKind
    cells: tuple[FoundCell, ...]
    values: tuple[str, ...]
    formula: str
    value: float
    result: str


def asks_arithmetic(question: str) -> bool:
    """Whether a question has words for what is worked out from several values, understood or not."""
    return _ARITHMETIC.search(question[:MOST_CHARACTERS]) is not None


def read_arithmetic(question: str) -> Asked | None:
    """What a question wants worked out; None where it wants nothing, or what is not understood."""
    text = " ".join(question[: MOST_CHARACTERS + 1].replace("’", "'").split())
    if len(text) > MOST_CHARACTERS or not asks_arithmetic(text) or _NOT_PLAIN.search(text) or len(sentences(text)) > 1:
        return None
    starts = [match.start() for match in _ASK.finditer(text)]
    text = text[starts[-1] :].strip(" ,;:.?!") if starts else ""
    asked = _over_periods(text) or _of_two(text)
    return asked if asked and 2 <= len(asked.items) <= MOST_ITEMS else None


def _over_periods(text: str) -> Asked | None:
    """The change, average or sum of one item over the periods that are named together."""
    groups = group_periods(text)
    if len(groups) != 1:
        return None
    start, end, named, how = groups[0]
    kind, name = _split_kind(" ".join(f"{text[:start]} {text[end:]}".split()))
    if kind is None:
        return None
    periods = sorted(named, key=when)
    gap = when(periods[-1])[0] - when(periods[0])[0]
    if kind in ("average", "sum"):
        if len(periods) == 2 and gap > 1:
            if how not in _RANGES or gap >= MOST_ITEMS:
                return None
            periods = [move_years(periods[0], place) for place in range(gap + 1)]
        said = _COUNT.search(text)
        if said and _NUMBERS.get(said[1].lower(), int(said[1]) if said[1].isdigit() else 0) != len(periods):
            return None
    elif len(periods) != 2:
        return None
    items = [item for period in periods if (item := _item(name, period))]
    if len(items) < max(2, len(periods)):
        return None
    return Asked(kind, tuple(items if kind in ("average", "sum") else reversed(items)))


def _split_kind(text: str) -> tuple[CalculationKind | None, str]:
    """What is to be done with the values, and the text without the words that say so."""
    found = {kind: match for kind, form in _OVER_PERIODS.items() if (match := form.search(text))}
    kind, match = min(found.items(), key=lambda each: each[1].start(), default=(None, None))
    if match is None and (did := _DID.search(text)):
        kind, match = "change", _MOVED.search(text, did.end())
    if match is None:
        return None, text
    if kind == "change" and "growth" in match[0].casefold():
        kind = "percent change"
    return kind, _COUNT.sub(" ", f"{text[: match.start()]} {text[match.end() :]}")


def _of_two(text: str) -> Asked | None:
    """A share, ratio or difference of two items of one period, or each of its own."""
    groups, period = group_periods(text), ""
    if len(groups) == 1 and len(groups[0].periods) == 1:
        start, end, (period,), _ = groups[0]
        text = " ".join(f"{text[:start]} {text[end:]}".split())
    for kind, before, between, swapped in _OF_TWO:
        led = before.search(text)
        parts = between.split(text[led.end() :]) if led else []
        if len(parts) == 2:
            one, other = reversed(parts) if swapped else parts
            first = _item(one, period)
            second = first and (_item(other, period) or _item(f"{first.name} in {other}", ""))
            return Asked(kind, (first, second)) if first and second and first != second else None
    return None


def _item(text: str, period: str) -> Item | None:
    """An item with its own period or else the one that is given; None where it names several, or no item."""
    groups = group_periods(text)
    if groups:
        start, end, own, _ = groups[0]
        if len(groups) > 1 or len(own) > 1:
            return None
        text, period = f"{text[:start]} {text[end:]}", own[0]
    name = " ".join(text.split()).strip(" ?.,;:")
    if lead := _LEAD.match(name):
        name = name[lead.end() :].strip()
    return None if not any(map(str.isalpha, name)) or _NO_ITEM.search(name) else Item(name, period)


def work_out(question: str, sources: Mapping[str, Chunk | WebPage]) -> Worked | None:
    """The result, all of whose cells one document has; None where there is none, or documents have several."""
    asked = read_arithmetic(question)
    if asked is None:
        return None
    documents: dict[str, dict[str, Chunk | WebPage]] = {}
    for id, source in sources.items():
        if isinstance(source, Chunk):
            documents.setdefault(source.document_id, {})[id] = source
    made = [each for own in documents.values() if (each := _of_document(asked, own))]
    agree = all(abs(each.value - made[0].value) <= 0.005 * abs(made[0].value) for each in made)
    return made[0] if made and agree else None


def _of_document(asked: Asked, sources: Mapping[str, Chunk | WebPage]) -> Worked | None:
    found: list[Lookup] = []
    for item in asked.items:
        lookup = look_up(f"What was {item.name}{item.period and f' in {item.period}'}?", sources)
        if lookup is None or lookup.cell is None:
            return None
        found.append(lookup)
    measure, cells = found[0].wanted.measure, _beside(found)
    if any(each.wanted.measure != measure for each in found):
        return None
    if len({(cell.chunk.id, cell.start) for cell in cells}) < len(cells):
        return None  # two of its values are one
    values = _values(cells, measure)
    spent = [_OUT.search(item.name) is not None and not _IN.search(item.name) for item in asked.items]
    if values and any(each < 0 and out for each, out in zip(values, spent, strict=True)):
        if asked.kind in ("change", "difference"):
            return None
        values = [abs(each) if out else each for each, out in zip(values, spent, strict=True)]
    if values is None or not _is_sensible(asked.kind, values, measure):
        return None
    formula, value = _compute(asked.kind, values)
    several = len({cell.scale for cell in cells} - {""}) > 1
    said = tuple(_say(cell, each, several) for cell, each in zip(cells, values, strict=True))
    return Worked(asked.kind, cells, said, formula, value, _show(asked.kind, value, cells, measure))


def _compute(kind: CalculationKind, values: Sequence[float]) -> tuple[str, float]:
    """The formula, with "#1" for the first value, and what it comes to."""
    first, second = values[:2]
    if kind in ("sum", "average"):
        added = " + ".join(f"#{place}" for place in range(1, len(values) + 1))
        return (added, sum(values)) if kind == "sum" else (f"({added}) ÷ {len(values)}", sum(values) / len(values))
    if kind == "percent change":
        return "(#1 − #2) ÷ #2", (first - second) / second
    return ("#1 − #2", first - second) if kind in ("change", "difference") else ("#1 ÷ #2", first / second)


def _is_sensible(kind: CalculationKind, values: Sequence[float], measure: Measure) -> bool:
    """Whether a result says anything: nothing is divided by zero, and from a loss to a profit there are no per cent."""
    if kind == "percent change":
        return measure != "percent" and (all(each > 0 for each in values) or all(each < 0 for each in values))
    return kind not in ("share", "ratio") or values[1] != 0


def _beside(found: Sequence[Lookup]) -> tuple[FoundCell, ...]:
    """One cell of each look-up, of the table that most of them have one of: elsewhere the same value may be rounded."""
    tables = Counter(key for each in found for key in {_table(cell) for cell in each.cells})
    return tuple(max(each.cells, key=lambda cell: (bool(cell.scale), tables[_table(cell)])) for each in found)


def _table(cell: FoundCell) -> tuple[object, ...]:
    return cell.table.header, cell.table.title, cell.unit


def _values(cells: Sequence[FoundCell], measure: Measure) -> list[float] | None:
    """What the cells say, all counted as the first is; None where one says no number, or not what it counts in."""
    values = []
    scales = {cell.scale for cell in cells} if measure == "amount" else set()
    if "" in scales and len({_table(cell) for cell in cells}) == 1:
        scales.discard("")  # one name of a column speaks for the others
    if len(scales) > 1 and "" in scales:
        return None
    units = set()
    for cell in cells:
        number = next((each for each in numbers_in(cell.text) if each.values), None)
        if number is None and any(letter.isalnum() for letter in cell.text):
            return None
        units.add(number.unit if number else "")
        value = 0.0 if number is None else number.values[0] * (-1 if _NEGATIVE.match(cell.text) else 1)
        values.append(value * SCALES[cell.scale] / SCALES[cells[0].scale] if len(scales) > 1 else value)
    return values if len(units - {""}) < 2 else None


def _say(cell: FoundCell, value: float, with_scale: bool) -> str:
    """What counts of a cell: its digits, with its sign where that counts."""
    digits = _FIGURE.search(cell.text)
    said = f"{'−' if value < 0 else ''}{digits[0].rstrip('.,') if digits else 0}{'%' if '%' in cell.text else ''}"
    return f"{said} {cell.scale}" if with_scale and cell.scale else said


def _show(kind: CalculationKind, value: float, cells: Sequence[FoundCell], measure: Measure) -> str:
    """The result rounded, with its unit."""
    if kind in ("percent change", "share"):
        return f"{_round(100 * value, 1)}%"
    if kind == "ratio":
        return _round(value, 2)
    digits = max(len(re.sub(r"\D", "", cell.text.partition(".")[2])) for cell in cells)
    said = _round(value, digits + (kind == "average"))
    if measure == "percent":
        return f"{said}%" if kind == "average" else f"{said} percentage points"
    return f"{said} {cells[0].scale if measure == 'amount' else ''}".strip()


def _round(value: float, digits: int) -> str:
    said = f"{value:,.{digits}f}".replace("-", "−")
    return said.removeprefix("−") if not said.strip("−0.,") else said


def looks_up(question: str) -> bool:
    """Whether a question asks for a cell of a table, or for what is worked out from cells."""
    return wanted_of(question) is not None or read_arithmetic(question) is not None


def reach_cells(question: str, found: Sequence[RetrievedChunk], k: int) -> list[RetrievedChunk]:
    """The first `k` chunks; the last places are for those further down whose tables alone have what is asked for."""
    near = reach_figure(question, found, k)
    if near != list(found[:k]) or work_out(question, {each.chunk.id: each.chunk for each in near}):
        return near
    worked = work_out(question, {each.chunk.id: each.chunk for each in found})
    if worked is None:
        return near
    used = {cell.chunk.id for cell in worked.cells}
    further = [each for each in found[k:] if each.chunk.id in used]
    kept = [each for each in near if each.chunk.id in used]
    others = [each for each in near if each.chunk.id not in used][: max(0, k - len(kept) - len(further))]
    return [*sorted([*kept, *others], key=near.index), *further][:k] if further else near
