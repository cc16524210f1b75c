"""What a question wants worked out from cells of tables: each is looked up, and the formula is computed. Pure."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crag.core.types import CalculationKind, Chunk, RetrievedChunk, WebPage
from crag.generation.cells import FoundCell, Lookup, look_up, reach_figure
from crag.generation.formulas import Expression, Formula, Leaf, formula_of, leaves_of
from crag.generation.wanted import Measure, wanted_of
from crag.text.numerals import SCALES, numbers_in

_COMPUTE: Mapping[str, Callable[[float, float], float]] = {
    **{"+": operator.add, "−": operator.sub, "×": operator.mul, "÷": operator.truediv},
    "^": lambda base, power: base**power if base > 0 else float("nan"),
}
_RANKS = {"+": 0, "−": 0, "×": 1, "÷": 1, "^": 2}
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
class Worked:
    """A result with the cells that it is worked out from, as `crag.core.types.Calculation` has them."""

    kind: CalculationKind
    cells: tuple[FoundCell, ...]
    values: tuple[str, ...]
    formula: str
    value: float
    result: str


def work_out(question: str, sources: Mapping[str, Chunk | WebPage]) -> Worked | None:
    """The result, all of whose cells one document has; None where there is none, or documents have several."""
    formula = formula_of(question)
    if formula is None:
        return None
    documents: dict[str, dict[str, Chunk | WebPage]] = {}
    for id, source in sources.items():
        if isinstance(source, Chunk):
            documents.setdefault(source.document_id, {})[id] = source
    made = [each for own in documents.values() if (each := _of_document(formula, own))]
    agree = all(abs(each.value - made[0].value) <= 0.005 * abs(made[0].value) for each in made)
    return made[0] if made and agree else None


def _of_document(formula: Formula, sources: Mapping[str, Chunk | WebPage]) -> Worked | None:
    leaves = leaves_of(formula.root)
    found: list[Lookup] = []
    for leaf in leaves:
        lookup = look_up(leaf.question, sources)
        if lookup is None or lookup.cell is None:
            return None
        found.append(lookup)
    measure, cells = found[0].wanted.measure, _beside(found)
    if any(each.wanted.measure != measure for each in found):
        return None
    if len({(cell.chunk.id, cell.start) for cell in cells}) < len(cells):
        return None  # two of its values are one
    values = _values(cells, measure)
    power = _power(formula.root)
    spent = [_OUT.search(leaf.item) is not None and not _IN.search(leaf.item) for leaf in leaves]
    if values and any(each < 0 and out for each, out in zip(values, spent, strict=True)):
        if formula.kind in ("change", "difference"):
            return None
        values = [abs(each) if out else each for each, out in zip(values, spent, strict=True)]
    if values is None or power not in (0, 1) or not _is_sensible(formula, values, measure):
        return None
    value = _compute(formula.root, dict(zip(leaves, values, strict=True)))
    if value is None:
        return None
    written = _write(formula.root, {leaf: f"#{place}" for place, leaf in enumerate(leaves, 1)})
    several = len({cell.scale for cell in cells} - {""}) > 1
    said = tuple(_say(cell, each, several) for cell, each in zip(cells, values, strict=True))
    return Worked(formula.kind, cells, said, written, value, _show(formula, value, cells, measure if power else ""))


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


def _power(root: Expression) -> int | None:
    """The power in which amounts stand: 1 of an amount, 0 of a ratio; None where such are added that differ."""
    if isinstance(root, float):
        return 0
    if isinstance(root, Leaf):
        return 1
    left, right = _power(root.left), _power(root.right)
    if left is None or right is None:
        return None
    if root.sign in "×÷":
        return left + right if root.sign == "×" else left - right
    return left if left == right else None


def _is_sensible(formula: Formula, values: Sequence[float], measure: Measure) -> bool:
    """Whether a change in per cent says anything: of a percentage, or from a loss to a profit, it does not."""
    if formula.kind not in ("percent change", "annual growth"):
        return True
    return measure != "percent" and (all(each > 0 for each in values) or all(each < 0 for each in values))


def _compute(root: Expression, known: Mapping[Leaf, float]) -> float | None:
    if isinstance(root, float):
        return root
    if isinstance(root, Leaf):
        return known[root]
    left, right = _compute(root.left, known), _compute(root.right, known)
    if left is None or right is None or (root.sign == "÷" and right == 0):
        return None
    value = _COMPUTE[root.sign](left, right)
    return value if math.isfinite(value) else None


def _write(root: Expression, names: Mapping[Leaf, str], above: int = -1) -> str:
    """The formula with its signs, and brackets where they are needed."""
    if isinstance(root, float):
        return f"{root:g}"
    if isinstance(root, Leaf):
        return names[root]
    rank = _RANKS[root.sign]
    right = _write(root.right, names, rank + (root.sign in "−÷^"))
    said = f"{_write(root.left, names, rank)} {root.sign} {right}"
    return f"({said})" if rank < above else said


def _say(cell: FoundCell, value: float, with_scale: bool) -> str:
    """What counts of a cell: its digits, with its sign where that counts."""
    digits = _FIGURE.search(cell.text)
    said = f"{'−' if value < 0 else ''}{digits[0].rstrip('.,') if digits else 0}{'%' if '%' in cell.text else ''}"
    return f"{said} {cell.scale}" if with_scale and cell.scale else said


def _show(formula: Formula, value: float, cells: Sequence[FoundCell], measure: Measure | str) -> str:
    """The result rounded, with its unit. `measure`: what it is, empty of a ratio."""
    if formula.percent:
        return f"{_round(100 * value, 1)}%"
    if not measure:
        return _round(value, 2)
    scale, asked = (cells[0].scale, formula.scale) if measure == "amount" else ("", "")
    if scale and asked:
        value, scale = value * SCALES[scale] / SCALES[asked], asked
    digits = max(len(re.sub(r"\D", "", cell.text.partition(".")[2])) for cell in cells)
    digits += formula.kind == "average" or bool(asked)
    said = _round(value, digits)
    if measure == "percent":
        return f"{said}%" if formula.kind == "average" else f"{said} percentage points"
    return f"{said} {scale}".strip()


def _round(value: float, digits: int) -> str:
    said = f"{value:,.{digits}f}".replace("-", "−")
    return said.removeprefix("−") if not said.strip("−0.,") else said


def looks_up(question: str) -> bool:
    """Whether a question asks for a cell of a table, or for what is worked out from cells."""
    return wanted_of(question) is not None or formula_of(question) is not None


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
