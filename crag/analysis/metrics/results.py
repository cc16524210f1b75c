"""Rows of a strategy summed up, and two results held against each other question by question. Pure and seeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from crag.analysis.intervals import Mean as Mean
from crag.analysis.intervals import Values, intervals
from crag.analysis.metrics.metrics import MEAN, ResultRow
from crag.core.errors import InputError
from crag.core.types import Action

FEW = 20
"""Below this number of questions an interval is rough."""

Cell = str | int | float | bool | None

_HINTS = get_type_hints(ResultRow, include_extras=True)
MEASURES = ("right", *(name for name, hint in _HINTS.items() if MEAN in getattr(hint, "__metadata__", ())))
"""The columns of `flat` that are averaged. Yes counts 1, no 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One strategy over one set. `unfinished` runs failed or were stopped; they are in no mean they can't tell of.

    `unscored`: questions whose expected answer can't be compared with what was answered. `actions`:
    see `confusion`.
    """

    strategy: str
    questions: int
    unfinished: int
    unscored: int
    means: dict[str, Mean]
    actions: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Second minus first, over the `pairs` questions where both know the measure.

    `names` of both. `includes_zero`: whether the interval does; None where there is none. `rough`: the questions are
    few for that interval.
    """

    measure: str
    names: tuple[str, str]
    pairs: int
    first: float | None
    second: float | None
    value: float | None
    low: float | None
    high: float | None
    includes_zero: bool | None
    rough: bool


def summed_up(rows: Sequence[ResultRow]) -> Result:
    """Means, intervals and actions of one strategy's rows, each question once. ValueError where they are not that."""
    _by_question(rows)
    strategies = sorted({row.strategy for row in rows})
    if len(strategies) > 1:
        raise ValueError(f"These rows are of several strategies: {', '.join(strategies)}. Sum them up one by one.")
    values = _table([measures_of(row) for row in rows], MEASURES)
    columns = [column[~np.isnan(column)] for column in values.T]
    return Result(
        strategy=strategies[0] if strategies else "",
        questions=len(rows),
        unfinished=sum(bool(row.problem) for row in rows),
        unscored=sum(bool(row.unscored) for row in rows),
        means={
            name: Mean(value=float(known.mean()) if len(known) else None, known=len(known), low=low, high=high)
            for name, known, (low, high) in zip(MEASURES, columns, intervals(values), strict=True)
        },
        actions=confusion(rows),
    )


def confusion(rows: Sequence[ResultRow]) -> dict[str, dict[str, int]]:
    """Counts by action ("none" of plain RAG and of broken runs), then by whether its retrieval holds what is sought."""
    table = {name: dict.fromkeys(("holds", "missing", "unknown"), 0) for name in (*map(str, Action), "none")}
    for row in rows:
        held = row.acted_holds
        table[str(row.action or "none")]["unknown" if held is None else "holds" if held else "missing"] += 1
    return table


def compare_results(
    first: Sequence[ResultRow], second: Sequence[ResultRow], *, names: tuple[str, str] | None = None
) -> dict[str, Difference]:
    """Every measure but times of two results over the questions that are in both.

    Times say nothing: strategies run one after another. `names` replace the strategies' names. ValueError where a
    result has a question twice, or none is in both.
    """
    ours, theirs = _by_question(first), _by_question(second)
    shared = [question for question in ours if question in theirs]
    if not shared:
        raise ValueError("The two results have no question in common.")
    said = names or (first[0].strategy or "the first", second[0].strategy or "the second")
    sides = [[measures_of(side[question]) for question in shared] for side in (ours, theirs)]
    columns = [name for name in MEASURES if name != "seconds"]
    one, other = (_table(side, columns) for side in sides)
    unknown = np.isnan(one) | np.isnan(other)
    one, other = (np.where(unknown, np.nan, table) for table in (one, other))
    found = intervals(other - one)
    return {
        name: _difference(name, one[:, place], other[:, place], found[place], said)
        for place, name in enumerate(columns)
    }


def measures_of(row: ResultRow) -> dict[str, float | None]:
    """What is averaged of a row, by column: yes 1.0, no 0.0, unknown None."""
    found = flat(row)
    return {name: None if (value := found[name]) is None else float(value) for name in MEASURES}


def flat(row: ResultRow) -> dict[str, Cell]:
    """The row's columns, for `crag.text.spreadsheets.csv_export`, which lets no text be a live formula."""
    return {**asdict(row), "right": row.right}


def row_to_json(row: ResultRow) -> str:
    """A row as a JSON object."""
    return _ROW.dump_json(row).decode()


def row_from_json(text: str) -> ResultRow:
    """The inverse of `row_to_json`. Raises pydantic.ValidationError."""
    return _ROW.validate_json(text)


def read_results(data: bytes, strategy: str) -> list[ResultRow]:
    """The rows of a strategy in a JSON file of rows that `flat` made; those of a single one whatever its name.

    Raises InputError for another file, and for one of several strategies without this one.
    """
    try:
        found = _ROWS.validate_json(data)
    except ValidationError as error:
        raise _unreadable() from error
    if not found:
        raise _unreadable()
    if len({row.strategy for row in found}) > 1:
        found = [row for row in found if row.strategy == strategy]
    if not found:
        raise InputError(
            f"The baseline holds several strategies, and not {strategy}.", "Name one of them by --strategy."
        )
    if len({row.question_id for row in found}) < len(found):
        raise InputError("The baseline holds a question twice.", "Write a file for each evaluation.")
    return found


def _unreadable() -> InputError:
    return InputError(
        "The baseline is no file of results, or it was cut off.", "Give the file that crag evaluate --json-file wrote."
    )


def _by_question(rows: Sequence[ResultRow]) -> Mapping[str, ResultRow]:
    found: dict[str, ResultRow] = {}
    for row in rows:
        if row.question_id in found:
            raise ValueError(f"Question {row.question_id} stands twice in one result.")
        found[row.question_id] = row
    return found


def _difference(
    name: str, first: Values, second: Values, interval: tuple[float | None, float | None], names: tuple[str, str]
) -> Difference:
    """`first` and `second` by question, both NaN where one does not know."""
    known = ~np.isnan(first)
    count, (low, high) = int(known.sum()), interval
    value = float((second - first)[known].mean()) if count else None
    return Difference(
        measure=name,
        names=names,
        pairs=count,
        first=float(first[known].mean()) if count else None,
        second=float(second[known].mean()) if count else None,
        value=value,
        low=low,
        high=high,
        includes_zero=low <= 0.0 <= high if low is not None and high is not None else None,
        rough=low is not None and count < FEW,
    )


def _table(tables: Sequence[Mapping[str, float | None]], names: Sequence[str]) -> Values:
    """Questions by measures; NaN is unknown."""
    found = [[table.get(name) for name in names] for table in tables]
    return np.array(found, dtype=np.float64).reshape(len(tables), len(names))


_ROW: TypeAdapter[ResultRow] = TypeAdapter(ResultRow)
_ROWS: TypeAdapter[list[ResultRow]] = TypeAdapter(list[ResultRow])
