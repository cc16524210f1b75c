"""Evaluations side by side: a table for people, records for scripts, and how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crag.analysis.funnel import Funnel
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference, Mean, Result, compare_results
from crag.core.types import Action
from crag.export.misses import FunnelRecord
from crag.messages.evaluations import TITLES, UNTIMED, difference_sentence
from crag.messages.funnel import beside_sentence, funnel_sentence, left_out_sentence
from crag.messages.providers import cost_text
from crag.providers.prices import Spent

MAIN = """
first_source_recall first_page_precision first_page_recall first_page_reciprocal_rank first_holds acted_holds
acted_right rewrite_helped evidence_answer evidence_page evidence_source evidence_words answer_holds answer_f1
faithfulness attributed unsupported question_covered topics_covered abstained abstention_right searches calls
failed_calls seconds remembered input_tokens output_tokens
""".split()
"""The measures in the table; every other one is in the exported rows."""

UNKNOWN = "–"
_FUNNEL = (funnel_sentence, beside_sentence, left_out_sentence)
_COUNTS = frozenset({"evidence_words", "input_tokens", "output_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One strategy's evaluation: its rows, what they come to, where answers are lost, and what its calls cost."""

    id: str
    strategy: str
    rows: tuple[ResultRow, ...]
    result: Result
    funnel: Funnel
    spent: Spent


def table_lines(columns: Sequence[Column]) -> list[str]:
    """Measures by strategies. A mean has its 95 % interval behind it, what is not known is a dash."""
    lines = [["A question on average (95 % interval)", *(column.strategy for column in columns)]]
    lines.append(["Questions", *(f"{column.result.questions:,}" for column in columns)])
    lines.append(["Failed", *(f"{column.result.unfinished:,}" for column in columns)])
    if any(column.result.unscored for column in columns):
        lines.append(["Answer not scored", *(f"{column.result.unscored:,}" for column in columns)])
    for action in Action:
        lines.append(
            [
                f"Acted {action} (what is sought: there, not there)",
                *(_describe_action(each, action) for each in columns),
            ]
        )
    for name in MAIN:
        lines.append([TITLES[name], *(_mean(name, column.result.means.get(name)) for column in columns)])
    lines.append(["Cost of all calls", *(cost_text(column.spent) for column in columns)])
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns) + 1)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def funnel_lines(columns: Sequence[Column]) -> list[str]:
    """Where each strategy loses answers, in a line each."""
    return [
        f"{column.strategy}: {' '.join(filter(None, (say(column.funnel) for say in _FUNNEL)))}" for column in columns
    ]


def differences(first: Column, second: Column) -> list[Difference]:
    """The main measures that are known of both, second minus first."""
    found = compare_results(first.rows, second.rows, names=(first.strategy, second.strategy))
    return [found[name] for name in MAIN if name in found and found[name].pairs]


def difference_lines(found: Sequence[Difference]) -> list[str]:
    """A sentence for each measure that differs, the others in one line, and why times are not among them."""
    same = [each for each in found if each.value == each.low == each.high == 0]
    lines = [difference_sentence(each) for each in found if each not in same]
    if same:
        lines.append(f"The same with both: {'; '.join(TITLES[each.measure] for each in same)}.")
    return [*lines, UNTIMED] if found else []


def result_record(column: Column) -> dict[str, Any]:
    """One strategy as a flat record: every measure with its interval and how many questions tell of it."""
    result = asdict(column.result)
    return {
        "kind": "evaluation",
        "id": column.id,
        **result,
        "funnel": FunnelRecord.of(column.funnel).json_values(),
        "spent": {**asdict(column.spent), "said": cost_text(column.spent)},
    }


def difference_record(first: Column, second: Column, difference: Difference) -> dict[str, Any]:
    """One measure of both, second minus first."""
    between = {"from": first.id, "to": second.id, "strategies": [first.strategy, second.strategy]}
    return {"kind": "difference", **between, **asdict(difference), "sentence": difference_sentence(difference)}


def _describe_action(column: Column, action: Action) -> str:
    counts = column.result.actions[str(action)]
    total = sum(counts.values())
    return f"{total:,} ({counts['holds']:,}, {counts['missing']:,})" if total else "0"


def _mean(name: str, mean: Mean | None) -> str:
    if mean is None or mean.value is None:
        return UNKNOWN
    low, high = mean.low, mean.high
    interval = "" if low is None or high is None or low == high else f" ({_number(name, low)} to {_number(name, high)})"
    return f"{_number(name, mean.value)}{interval}"


def _number(name: str, value: float) -> str:
    return f"{value:,.0f}" if name in _COUNTS else f"{value:,.2f}"
