"""Did a change break what worked? An evaluation against a baseline of the same set, by question, worse first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from pydantic import ValidationError

from crag.analysis.evaluate import Evaluation
from crag.analysis.funnel import STEPS, Funnel, Step
from crag.analysis.metrics.metrics import ResultRow, label_of
from crag.analysis.metrics.results import Cell, Difference, compare_results, compare_values, flat, row_of
from crag.analysis.questions.adapters import UNANSWERABLE
from crag.analysis.questions.matching import comparable
from crag.analysis.questions.sets import Question
from crag.core.errors import InputError

Aspect = Literal["ended", "right", "answered", "cited"]
"""What a question can lose or gain.

"ended": its run ended. "right": see `is_right`. "answered": the run did not abstain where an answer is expected.
"cited": its expected place passed every step up to the answer.
"""
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
Stage = Step | Literal["passed", "unknown"]
"""The step at which an expected place was lost; "unknown" where it was not followed."""
_ORDER = {stage: place for place, stage in enumerate((*STEPS, "passed", "unknown"))}
_SET, _LOST, _DOCUMENTS, _EVALUATION = "question_set", "lost", "documents", "evaluation"
"""The columns of a file of rows beside those of `flat`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An evaluation as it is compared. `documents` is their version, "" where it was not recorded.

    `steps`: by question id, of the questions that were followed, the first step not passed, None where all were.
    """

    id: str
    set_id: str
    strategy: str
    documents: str
    rows: tuple[ResultRow, ...]
    steps: Mapping[str, Step | None]

    @classmethod
    def of(cls, evaluation: Evaluation, rows: Sequence[ResultRow], funnel: Funnel | None) -> Measured:
        """From what is known of a stored evaluation; without its funnel no place is followed."""
        return cls(
            id=evaluation.id,
            set_id=evaluation.set_id,
            strategy=evaluation.strategy,
            documents=evaluation.parts.version if evaluation.parts else "",
            rows=tuple(rows),
            steps=funnel.steps if funnel is not None else {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A question that did not end as in the baseline. `before` and `now` say where its expected place was lost."""

    question: Question
    first: ResultRow
    second: ResultRow
    lost: tuple[Aspect, ...]
    gained: tuple[Aspect, ...]
    before: Stage
    now: Stage

    @property
    def worse(self) -> bool:
        """Being right decides; where that did not change, whether anything was lost."""
        return "right" in self.lost or ("right" not in self.gained and bool(self.lost))


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """What became of each question since the baseline.

    `right` and `cited` are the paired differences of those shares over labelled questions, `measures` those of all
    other measures. `unknown`: labelled questions of which one side does not tell, `unlabelled` those without a label.
    `worse` and `better` are in order: right answers first, then by the step of the loss, then as the set has them.
    `same_documents` is None where one side's version was not recorded.
    """

    baseline: Measured
    candidate: Measured
    right: Difference
    cited: Difference
    measures: Mapping[str, Difference]
    unknown: int
    unlabelled: int
    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    same_documents: bool | None

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval of the difference in right answers lies below zero."""
        return self.right.high is not None and self.right.high < 0


def is_labelled(question: Question) -> bool:
    """Whether something says what a right answer or page is."""
    return label_of(question) is not None or bool(comparable(question.answers))


def is_right(question: Question, row: ResultRow, steps: Mapping[str, Step | None]) -> bool | None:
    """Whether a labelled question was answered rightly; None without a label, and where nothing tells.

    A run that failed is not right. An unanswerable question is right if the run abstained, one with an accepted answer
    if the answer says it, any other if the expected page or document is cited.
    """
    if not is_labelled(question):
        return None
    if row.problem:
        return False
    if UNANSWERABLE in question.labels:
        return row.abstained
    if row.answer_holds is not None:
        return row.answer_holds
    return _is_cited(question, row, steps)


def compare(
    baseline: Measured,
    candidate: Measured,
    questions: Sequence[Question],
    names: tuple[str, str] = ("the baseline", "this evaluation"),
) -> Regression:
    """Compare two evaluations of one set question by question, in linear time. Pure.

    Raises InputError where they are of different sets, share no question, or share none that is labelled.
    """
    check_set(baseline, candidate.set_id, questions)
    by_id = {question.id: question for question in questions}
    before, now = ({row.question_id: row for row in side.rows} for side in (baseline, candidate))
    shared = [by_id[id] for id in before if id in now and id in by_id]
    if not shared:
        raise InputError("The two evaluations have no question in common.", "Evaluate the baseline again.")
    pairs = [(each, before[each.id], now[each.id]) for each in shared]
    labelled = [pair for pair in pairs if is_labelled(pair[0])]
    if not labelled:
        raise _unlabelled()
    one = np.array([_shares(question, row, baseline.steps) for question, row, _ in labelled])
    other = np.array([_shares(question, row, candidate.steps) for question, _, row in labelled])
    found = compare_values(one, other, ("right", "cited"), names)
    changes = [change for pair in pairs if (change := _change(*pair, baseline.steps, candidate.steps)) is not None]
    worse, better = ([each for each in changes if each.worse is worse] for worse in (True, False))
    worse.sort(key=lambda each: ("right" not in each.lost, _ORDER[each.now]))
    better.sort(key=lambda each: "right" not in each.gained)
    known = baseline.documents and candidate.documents
    return Regression(
        baseline=baseline,
        candidate=candidate,
        right=found["right"],
        cited=found["cited"],
        measures=compare_results([first for _, first, _ in pairs], [second for _, _, second in pairs], names=names),
        unknown=len(labelled) - found["right"].pairs,
        unlabelled=len(pairs) - len(labelled),
        worse=tuple(worse),
        better=tuple(better),
        same_documents=baseline.documents == candidate.documents if known else None,
    )


def check_set(baseline: Measured, set_id: str, questions: Sequence[Question]) -> None:
    """Raises InputError where a baseline can't be compared with an evaluation of this set."""
    if baseline.set_id != set_id:
        raise InputError(
            "The baseline was measured on another question set: other questions, labels or limit.",
            "Evaluate the baseline again on these questions.",
        )
    if not any(map(is_labelled, questions)):
        raise _unlabelled()


def _unlabelled() -> InputError:
    return InputError(
        "No question that both evaluations answered has an expected answer, page or document, so nothing says what is "
        "worse.",
        "Add the columns answers, source or page to the question set.",
    )


def _shares(question: Question, row: ResultRow, steps: Mapping[str, Step | None]) -> list[float]:
    known = is_right(question, row, steps), _is_cited(question, row, steps)
    return [np.nan if each is None else float(each) for each in known]


def _is_cited(question: Question, row: ResultRow, steps: Mapping[str, Step | None]) -> bool | None:
    if row.problem and is_labelled(question) and UNANSWERABLE not in question.labels:
        return False
    return steps[question.id] in (None, "support") if question.id in steps else None


def _is_answered(question: Question, row: ResultRow) -> bool | None:
    return None if row.abstained is None or UNANSWERABLE in question.labels else not row.abstained


def _aspects(question: Question, row: ResultRow, steps: Mapping[str, Step | None]) -> dict[Aspect, bool | None]:
    return {
        "ended": not row.problem,
        "right": is_right(question, row, steps),
        "answered": _is_answered(question, row),
        "cited": _is_cited(question, row, steps),
    }


def _change(
    question: Question,
    first: ResultRow,
    second: ResultRow,
    before: Mapping[str, Step | None],
    now: Mapping[str, Step | None],
) -> Change | None:
    """What the question lost and gained; None for neither."""
    one, other = _aspects(question, first, before), _aspects(question, second, now)
    lost = tuple(each for each in ASPECTS if one[each] is True and other[each] is False)
    gained = tuple(each for each in ASPECTS if one[each] is False and other[each] is True)
    stages = _stage(question.id, before), _stage(question.id, now)
    if not lost and not gained:
        return None
    return Change(
        question=question, first=first, second=second, lost=lost, gained=gained, before=stages[0], now=stages[1]
    )


def _stage(id: str, steps: Mapping[str, Step | None]) -> Stage:
    return (steps[id] or "passed") if id in steps else "unknown"


# ---- files ---------------------------------------------------------------------------------------------------------


def to_cells(measured: Measured) -> list[dict[str, Cell]]:
    """Rows as they are exported, which `read_baseline` reads again."""
    beside = {_EVALUATION: measured.id, _SET: measured.set_id, _DOCUMENTS: measured.documents}
    lost = {id: step or "" for id, step in measured.steps.items()}
    return [{**flat(row), _LOST: lost.get(row.question_id), **beside} for row in measured.rows]


def read_baseline(data: bytes, strategy: str) -> Measured:
    """The evaluation in a file that `crag evaluate --json-file` wrote.

    Of several strategies that of this name; a single one whatever its name. Raises InputError.
    """
    cells = _records(data)
    named = {str(each.get("strategy", "")) for each in cells}
    if len(named) > 1:
        cells = [each for each in cells if each.get("strategy") == strategy]
    if not cells:
        raise InputError(
            f"The baseline holds several strategies, and not {strategy}.", "Name one of them by --strategy."
        )
    ids = {(each.get(_EVALUATION), each.get(_SET), each.get(_DOCUMENTS)) for each in cells}
    try:
        rows = tuple(map(row_of, cells))
    except ValidationError as error:
        raise _unreadable() from error
    if len(ids) > 1 or len({row.question_id for row in rows}) < len(rows):
        raise InputError("The baseline holds several evaluations of one strategy.", "Write a file for each of them.")
    id, set_id, documents = (str(each or "") for each in ids.pop())
    lost = {str(each["question_id"]): each[_LOST] for each in cells}
    steps: dict[str, Step | None] = {id: step or None for id, step in lost.items() if step in ("", *STEPS)}
    return Measured(id=id, set_id=set_id, strategy=rows[0].strategy, documents=documents, rows=rows, steps=steps)


def _records(data: bytes) -> list[dict[str, Any]]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable() from error
    rows = found if isinstance(found, list) else []
    if not rows or not all(isinstance(each, dict) and {_SET, _LOST} <= set(each) for each in rows):
        raise _unreadable()
    return rows


def _unreadable() -> InputError:
    return InputError(
        "The baseline is no file of results, or it was cut off.",
        "Give the file that crag evaluate --json-file wrote, or the id of a stored evaluation.",
    )
