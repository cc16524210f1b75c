"""Rows of a strategy summed up, and two results held against each other question by question. Pure and seeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from crag.core.types import Action
from crag.measure.metrics import Row
from crag.measure.ranking import Ranked

__all__ = [
    *("MEASURES", "Difference", "Mean", "Result", "compared", "confusion", "flat", "measures_of", "result_from_json"),
    *("result_to_json", "rows_from_json", "rows_to_json", "summed_up"),
]

SEED = 20_240_129
"""Of all resampling: the same rows give the same interval."""
RESAMPLES = 2_000
LEVEL = 95
"""Per cent of the resampled means that an interval holds."""
_AT_ONCE = 2_000_000
"""Random draws held in memory together."""

Cell = str | int | float | bool | None

MEASURES: dict[str, str] = {
    "first_source_precision": "Precision by source, first retrieval",
    "first_source_recall": "Recall by source, first retrieval",
    "first_source_reciprocal_rank": "Reciprocal rank by source, first retrieval",
    "first_page_precision": "Precision by page, first retrieval",
    "first_page_recall": "Recall by page, first retrieval",
    "first_page_reciprocal_rank": "Reciprocal rank by page, first retrieval",
    "acted_source_precision": "Precision by source, retrieval acted on",
    "acted_source_recall": "Recall by source, retrieval acted on",
    "acted_source_reciprocal_rank": "Reciprocal rank by source, retrieval acted on",
    "acted_page_precision": "Precision by page, retrieval acted on",
    "acted_page_recall": "Recall by page, retrieval acted on",
    "acted_page_reciprocal_rank": "Reciprocal rank by page, retrieval acted on",
    "first_holds": "First retrieval holds what is sought",
    "acted_holds": "Retrieval acted on holds what is sought",
    "first_right": "First action right (AMBIGUOUS counts half)",
    "acted_right": "Action right (AMBIGUOUS counts half)",
    "evidence_answer": "Evidence kept holds the answer",
    "evidence_page": "Evidence kept is from an expected page",
    "evidence_words": "Words of evidence kept",
    "faithfulness": "Faithfulness",
    "answer_exact": "Answer: exact match",
    "answer_f1": "Answer: token F1",
    "answer_holds": "Answer says an accepted answer",
    "question_covered": "Question's words taken up by the answer",
    "topics_covered": "Topics named",
    "abstained": "Abstained",
    "abstention_right": "Abstained or answered as the evidence asks",
    "rewrites": "Rewrites",
    "library_rewrites": "Rewrites for the library",
    "rewrite_helped": "Rewriting found what was missing",
    "searches": "Web searches",
    "calls": "Calls",
    "failed_calls": "Failed calls",
    "failed_grades": "Failed grades",
    "seconds": "Seconds",
    "input_tokens": "Tokens in",
    "output_tokens": "Tokens out",
}
"""Every measure that is averaged: its column in `flat` and its name on screen. Yes counts 1, no 0.

Seconds of single steps come beside them, as `seconds_<step>`.
"""

_NESTED = {"first_by_source": "first_source", "first_by_page": "first_page"}
_NESTED |= {"acted_by_source": "acted_source", "acted_by_page": "acted_page"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over the rows that know the measure: `known` of them. None of no rows; no interval of fewer than two."""

    value: float | None
    known: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One strategy over one set. `unfinished` runs failed or were stopped; they are in no mean they can't tell of.

    `actions` and `first_actions`: see `confusion`.
    """

    strategy: str
    questions: int
    unfinished: int
    means: dict[str, Mean]
    actions: dict[str, dict[str, int]]
    first_actions: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Second minus first, over the `pairs` questions where both know the measure.

    `includes_zero`: whether the interval does; None where there is none. `sentence` says it in words.
    """

    measure: str
    pairs: int
    first: float | None
    second: float | None
    value: float | None
    low: float | None
    high: float | None
    includes_zero: bool | None
    sentence: str


def summed_up(rows: Sequence[Row], *, seed: int = SEED) -> Result:
    """Means, intervals and actions of one strategy's rows, each question once. ValueError where they are not that."""
    _by_question(rows)
    strategies = sorted({row.strategy for row in rows})
    if len(strategies) > 1:
        raise ValueError(f"These rows are of several strategies: {', '.join(strategies)}. Sum them up one by one.")
    tables = [measures_of(row) for row in rows]
    names = [*MEASURES, *sorted({name for table in tables for name in table} - set(MEASURES))]
    return Result(
        strategy=strategies[0] if strategies else "",
        questions=len(rows),
        unfinished=sum(bool(row.problem) for row in rows),
        means={name: _mean([table.get(name) for table in tables], seed) for name in names},
        actions=confusion(rows),
        first_actions=confusion(rows, first=True),
    )


def confusion(rows: Sequence[Row], *, first: bool = False) -> dict[str, dict[str, int]]:
    """Counts by action ("none" of plain RAG and of broken runs), then by whether the retrieval holds what is sought.

    `first`: of the first retrieval; else of the one acted on.
    """
    table = {name: dict.fromkeys(("holds", "lacks", "unknown"), 0) for name in (*map(str, Action), "none")}
    for row in rows:
        action, held = (row.first_action, row.first_holds) if first else (row.action, row.acted_holds)
        table[str(action or "none")]["unknown" if held is None else "holds" if held else "lacks"] += 1
    return table


def compared(
    first: Sequence[Row], second: Sequence[Row], *, names: tuple[str, str] | None = None, seed: int = SEED
) -> dict[str, Difference]:
    """Every measure of two results over the questions that are in both; `names` for the sentences.

    ValueError where a result has a question twice, or none is in both.
    """
    ours, theirs = _by_question(first), _by_question(second)
    shared = [question for question in ours if question in theirs]
    if not shared:
        raise ValueError("The two results have no question in common.")
    said = names or (first[0].strategy or "the first", second[0].strategy or "the second")
    pairs = [(measures_of(ours[question]), measures_of(theirs[question])) for question in shared]
    extra = sorted({name for pair in pairs for table in pair for name in table} - set(MEASURES))
    return {
        name: _difference(name, [(a.get(name), b.get(name)) for a, b in pairs], said, seed)
        for name in (*MEASURES, *extra)
    }


def measures_of(row: Row) -> dict[str, float | None]:
    """What is averaged of a row, by column: yes 1.0, no 0.0, unknown None."""
    table = flat(row)
    names = [name for name in table if name in MEASURES or name.startswith("seconds_")]
    found = {name: table[name] for name in names}
    return {name: None if value is None else float(value) for name, value in found.items()}


def flat(row: Row) -> dict[str, Cell]:
    """The row as one level of columns, for `crag.measure.tables.csv_export`, which lets no text be a live formula."""
    cells: dict[str, Cell] = {}
    for each in fields(row):
        value = getattr(row, each.name)
        if each.name in _NESTED:
            names = [part.name for part in fields(Ranked)]
            cells |= {f"{_NESTED[each.name]}_{name}": getattr(value, name, None) for name in names}
        elif each.name == "step_seconds":
            cells |= {f"seconds_{step}": seconds for step, seconds in row.step_seconds.items()}
        else:
            cells[each.name] = value
    return cells


def rows_to_json(rows: Sequence[Row]) -> str:
    """All rows as one JSON list."""
    return _ROWS.dump_json(tuple(rows)).decode()


def rows_from_json(text: str | bytes) -> tuple[Row, ...]:
    """The inverse of `rows_to_json`. Raises pydantic.ValidationError."""
    return _ROWS.validate_json(text)


def result_to_json(result: Result) -> str:
    return _RESULT.dump_json(result).decode()


def result_from_json(text: str | bytes) -> Result:
    """The inverse of `result_to_json`. Raises pydantic.ValidationError."""
    return _RESULT.validate_json(text)


def _by_question(rows: Sequence[Row]) -> Mapping[str, Row]:
    found: dict[str, Row] = {}
    for row in rows:
        if row.question_id in found:
            raise ValueError(f"Question {row.question_id} stands twice in one result.")
        found[row.question_id] = row
    return found


def _mean(values: Sequence[float | None], seed: int) -> Mean:
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not known.size:
        return Mean(value=None, known=0)
    low, high = _interval(known, seed)
    return Mean(value=float(known.mean()), known=known.size, low=low, high=high)


def _difference(
    name: str, pairs: Sequence[tuple[float | None, float | None]], said: tuple[str, str], seed: int
) -> Difference:
    both = np.array([(a, b) for a, b in pairs if a is not None and b is not None], dtype=np.float64).reshape(-1, 2)
    count = len(both)
    first, second = (float(both[:, side].mean()) if count else None for side in (0, 1))
    low, high = _interval(both[:, 1] - both[:, 0], seed)
    value = float((both[:, 1] - both[:, 0]).mean()) if count else None
    zero = low <= 0.0 <= high if low is not None and high is not None else None
    return Difference(
        measure=name,
        pairs=count,
        first=first,
        second=second,
        value=value,
        low=low,
        high=high,
        includes_zero=zero,
        sentence=_sentence(name, count, value, low, high, said),
    )


def _sentence(
    name: str, count: int, value: float | None, low: float | None, high: float | None, said: tuple[str, str]
) -> str:
    label = MEASURES.get(name) or f"Seconds of {name.removeprefix('seconds_')}"
    if value is None:
        return f"{label}: unknown, for no question is it known of both."
    if low is None or high is None:
        return f"{label}: known of both for one question only; no interval can be given."
    step = "as high" if value == 0 else f"{abs(value):.3g} {'higher' if value > 0 else 'lower'}"
    than = "as" if value == 0 else "than"
    zero = "includes zero: it may be chance" if low <= 0.0 <= high else "does not include zero"
    return (
        f"{label}: {step} with {said[1]} {than} with {said[0]} over {count} questions; "
        f"the {LEVEL} % interval of the difference, {low:.3g} to {high:.3g}, {zero}."
    )


def _interval(values: npt.NDArray[np.float64], seed: int) -> tuple[float | None, float | None]:
    """The percentile bootstrap of the mean (Efron 1979); none of fewer than two values."""
    size = len(values)
    if size < 2:
        return None, None
    if (values == values[0]).all():
        return float(values[0]), float(values[0])
    random, rows = np.random.default_rng(seed), max(1, _AT_ONCE // size)
    parts = [min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows)]
    means = np.concatenate([values[random.integers(0, size, (part, size))].mean(axis=1) for part in parts])
    tail = (100 - LEVEL) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)


_ROWS: TypeAdapter[tuple[Row, ...]] = TypeAdapter(tuple[Row, ...])
_RESULT: TypeAdapter[Result] = TypeAdapter(Result)
