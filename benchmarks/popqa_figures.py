"""What the PopQA runs come to: measures by strategy with intervals, differences, and where answers were lost. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from benchmarks.popqa_cases import Case, Part, ceilings, web_holds
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import compare_results, summed_up
from crag.core.types import Action

Figures = dict[str, Any]
Becomes = Literal["kept", "nowhere", "documents discarded", "web not searched", "lost in refinement"]
FATES: tuple[Becomes, ...] = get_args(Becomes)
MEANS = (
    *("evidence_answer", "evidence_words", "searches", "library_rewrites", "answer_holds", "abstained"),
    "acted_holds",
)
AGAINST = ("paper", "plain-rag")
"""Whom `balanced` is held against."""


@dataclass(frozen=True, slots=True)
class Found:
    """One measured run. `own`: whether what it kept of the question's own passages holds the answer."""

    row: ResultRow
    own: bool


def fate(row: ResultRow, online: bool) -> Becomes:
    """What became of the answer; `online`: whether a web passage holds it.

    Of several reasons the first that applies: the documents held it and were discarded, the web held it and was not
    searched, or what held it was read and its strips (or chunks) were not kept.
    """
    if row.evidence_answer:
        return "kept"
    if not row.acted_holds and not online:
        return "nowhere"
    if row.acted_holds and row.action is Action.INCORRECT:
        return "documents discarded"
    if online and not row.searches:
        return "web not searched"
    return "lost in refinement"


def condition_figures(runs: Mapping[str, Sequence[Found]], cases: Sequence[Case]) -> Figures:
    """Both halves of one condition, each with its strategies; a half without questions is left out."""
    parts: tuple[Part, ...] = get_args(Part)
    found: Figures = {}
    for part in parts:
        own = {case.question.id: case for case in cases if case.part == part}
        if own:
            within = {name: [run for run in each if run.row.question_id in own] for name, each in runs.items()}
            found[part] = _part({name: each for name, each in within.items() if each}, list(own.values()))
    return found


def _part(runs: Mapping[str, Sequence[Found]], cases: Sequence[Case]) -> Figures:
    rows = {name: [run.row for run in each] for name, each in runs.items()}
    online = {case.question.id: web_holds(case) for case in cases}
    ahead = {}
    if "balanced" in rows:
        ahead = {
            name: {
                measure: asdict(found)
                for measure, found in compare_results(rows[name], rows["balanced"]).items()
                if measure in ("evidence_answer", "evidence_words", "searches")
            }
            for name in AGAINST
            if name in rows
        }
    return {
        "questions": len(cases),
        "ceilings": ceilings(cases),
        "strategies": {name: strategy_figures(each, online) for name, each in runs.items()},
        "balanced_less": ahead,
    }


def strategy_figures(runs: Sequence[Found], online: Mapping[str, bool]) -> Figures:
    """Means with intervals, the action mix and the fates of one strategy, as shares of its questions."""
    rows = [run.row for run in runs]
    result = summed_up(rows)
    fates = Counter(fate(row, online[row.question_id]) for row in rows)
    return {
        **{name: asdict(result.means[name]) for name in MEANS},
        "own": sum(run.own for run in runs) / len(runs),
        "actions": {name: sum(counts.values()) / len(rows) for name, counts in result.actions.items()},
        "fates": {name: fates[name] / len(rows) for name in FATES},
    }
