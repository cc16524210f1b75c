"""Results: means over what is known, intervals that repeat, and comparisons that pair question with question."""

import json
import math
from dataclasses import replace

import pytest

from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import (
    MEASURES,
    Mean,
    compare_results,
    confusion,
    flat,
    measures_of,
    read_results,
    row_from_json,
    row_to_json,
    summed_up,
)
from crag.core.errors import InputError
from crag.core.types import Action
from crag.text.spreadsheets import csv_export, json_export

FULL = ResultRow(
    question_id="q1",
    question="=1+1",
    strategy="paper",
    first_recall=0.5,
    first_reciprocal_rank=0.5,
    action=Action.CORRECT,
    acted_holds=True,
    acted_right=1.0,
    answer_f1=0.25,
    calls=3,
)


def rows(values: list[float | None], strategy: str = "paper") -> list[ResultRow]:
    return [
        ResultRow(question_id=f"q{number}", question="?", strategy=strategy, answer_f1=value)
        for number, value in enumerate(values)
    ]


def test_every_measure_is_a_column_and_every_number_is_a_measure() -> None:
    cells = flat(FULL)
    assert set(MEASURES) <= set(cells)
    numbers = {name for name, value in cells.items() if isinstance(value, (int, float))}
    assert numbers - set(MEASURES) == {"unscored"}
    assert measures_of(FULL)["acted_holds"] == 1.0
    assert measures_of(FULL)["faithfulness"] is None


def test_a_row_exports_without_a_live_formula() -> None:
    cells = flat(FULL)
    text = csv_export(tuple(cells), [tuple(cells.values())]).decode("utf-8-sig")
    assert "'=1+1" in text and ",=1+1" not in text


def test_a_row_survives_json() -> None:
    for row in (FULL, *rows([None])):
        assert row_from_json(row_to_json(row)) == row


def test_means_count_what_is_known_alone() -> None:
    result = summed_up(rows([0.0, 1.0, None, 0.5]))
    mean = result.means["answer_f1"]
    assert (result.strategy, result.questions, mean.value, mean.known) == ("paper", 4, 0.5, 3)
    assert result.means["faithfulness"] == Mean(value=None, known=0)
    assert result.means["calls"] == Mean(value=0.0, known=4, low=0.0, high=0.0)


def test_intervals_are_about_those_of_theory_and_repeat() -> None:
    """Of a share of 0.3 of 400: 0.3 ± 1.96 · sqrt(0.3 · 0.7 / 400)."""
    many = rows([1.0] * 120 + [0.0] * 280)
    mean = summed_up(many).means["answer_f1"]
    half = 1.96 * math.sqrt(0.3 * 0.7 / 400)
    assert (mean.low, mean.high) == (pytest.approx(0.3 - half, abs=0.01), pytest.approx(0.3 + half, abs=0.01))
    assert summed_up(many).means == summed_up(many).means


def test_resampling_in_parts_draws_enough() -> None:
    """3,000 values are resampled a part at a time."""
    mean = summed_up(rows([0.0, 1.0] * 1500)).means["answer_f1"]
    assert mean.low is not None and mean.high is not None
    assert mean.high - mean.low == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(3000), rel=0.15)


def test_answers_that_are_not_scored_are_counted_and_are_in_no_mean() -> None:
    unscored = replace(FULL, question_id="q2", answer_f1=None, unscored=True)
    result = summed_up([FULL, unscored])
    assert (result.unscored, result.means["answer_f1"]) == (1, Mean(value=0.25, known=1))


def test_actions_are_counted_by_what_was_retrieved() -> None:
    cases: list[tuple[Action | None, bool | None]] = [
        (Action.CORRECT, True),
        (Action.CORRECT, True),
        (Action.CORRECT, False),
        (Action.INCORRECT, None),
        (None, False),
    ]
    made = [
        ResultRow(question_id=str(number), question="?", action=action, acted_holds=held)
        for number, (action, held) in enumerate(cases)
    ]
    table = confusion(made)
    assert table["CORRECT"] == {"holds": 2, "missing": 1, "unknown": 0}
    assert table["INCORRECT"] == {"holds": 0, "missing": 0, "unknown": 1}
    assert table["none"] == {"holds": 0, "missing": 1, "unknown": 0}
    assert summed_up(made).actions == table


def test_rows_of_two_strategies_or_one_question_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="balanced, paper"):
        summed_up([*rows([1.0]), ResultRow(question_id="x", question="?", strategy="balanced")])
    with pytest.raises(ValueError, match="q0 stands twice"):
        summed_up([*rows([1.0]), *rows([1.0])])
    with pytest.raises(ValueError, match="no question in common"):
        compare_results(rows([1.0]), [ResultRow(question_id="x", question="?")])
    assert summed_up([]).questions == 0


# Comparison


def test_the_same_question_is_compared_with_itself() -> None:
    """Whatever the order, and only where both know."""
    first = rows([0.1, 0.2, None, 0.4])
    second = list(reversed(rows([0.2, 0.4, 0.9, None, 1.0], "balanced")))
    found = compare_results(first, second)["answer_f1"]
    assert found.pairs == 2
    assert (found.first, found.second) == (pytest.approx(0.15), pytest.approx(0.3))
    assert found.value == pytest.approx(0.15)


def test_what_may_be_chance_is_said_to_be() -> None:
    found = compare_results(rows([0.0, 1.0] * 10), rows([1.0, 0.0] * 9 + [1.0, 1.0], "balanced"))["answer_f1"]
    assert found.includes_zero is True
    same = compare_results(rows([0.5, 0.7]), rows([0.5, 0.7], "balanced"))["answer_f1"]
    assert (same.value, same.low, same.high, same.includes_zero) == (0.0, 0.0, 0.0, True)
    assert same.rough and not found.rough


def test_of_times_no_difference_is_stated() -> None:
    """One strategy ran after the other and used grades that the first one paid for: 2.4 s less say nothing."""
    first = [ResultRow(question_id=str(n), question="?", seconds=3.0, calls=n) for n in range(25)]
    second = [replace(row, seconds=0.6, remembered=5, calls=0) for row in first]
    found = compare_results(first, second)
    assert not [name for name in found if "seconds" in name]
    assert found["remembered"].value == 5.0 and (found["calls"].value or 0) < 0
    assert found["calls"].names == ("the first", "the second")
    assert summed_up(second).means["seconds"].value == 0.6, "each by itself is told"


# A right answer, and whether a change lost some: the file of a baseline, and what is refused


@pytest.mark.parametrize(
    ("known", "right"),
    [
        ({"judged_by": "page", "answer_holds": True, "evidence_page": False}, True),
        ({"judged_by": "page", "evidence_page": True, "abstained": False}, True),
        ({"judged_by": "page", "evidence_page": True, "abstained": True}, False),
        ({"judged_by": "page", "evidence_page": False, "evidence_source": True, "abstained": False}, False),
        ({"judged_by": "source", "evidence_source": True, "abstained": False}, True),
        ({"judged_by": "unanswerable", "abstained": True}, True),
        ({"judged_by": "unanswerable", "abstained": False}, False),
        ({"judged_by": "answer", "problem": "The run was stopped."}, False),
        ({"problem": "The run was stopped."}, None),
        ({"abstained": False}, None),
    ],
)
def test_right_is_what_the_finest_label_says(known: dict[str, object], right: bool | None) -> None:
    row = ResultRow(question_id="q", question="?", **known)  # type: ignore[arg-type]
    assert row.right is right and flat(row)["right"] is right


@pytest.mark.parametrize(("lost", "won", "worse"), [(8, 0, True), (3, 0, False), (4, 0, True), (8, 5, False)])
def test_answers_are_worse_where_the_whole_interval_lies_below_zero(lost: int, won: int, worse: bool) -> None:
    def side(right: range) -> list[ResultRow]:
        numbers = range(40)
        return [ResultRow(question_id=str(n), question="?", answer_holds=n in right) for n in numbers]

    found = compare_results(side(range(40 - won)), side(range(lost, 40)))["right"]
    assert found.high is not None and (found.high < 0) is worse


def written(*rows: ResultRow) -> bytes:
    cells = [flat(row) for row in rows]
    columns = list(dict.fromkeys(name for each in cells for name in each))
    return json_export(columns, [[each.get(name) for name in columns] for each in cells])


def test_a_file_of_results_is_read_as_it_was_written() -> None:
    other = replace(FULL, strategy="balanced")
    assert read_results(written(FULL, replace(FULL, question_id="b")), "joint") == [
        FULL,
        replace(FULL, question_id="b"),
    ]
    assert read_results(written(FULL, other), "balanced") == [other]
    with pytest.raises(InputError, match="several strategies, and not joint"):
        read_results(written(FULL, other), "joint")
    with pytest.raises(InputError, match="a question twice"):
        read_results(written(FULL, FULL), "paper")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[", b"[]", b"{}", b"7", b"[1]", b'[{"question": "a"}]', b"[" * 100_000, written(FULL)[:-40], b"\xff"),
        json.dumps([{"question_id": "a", "question": "?", "calls": "many"}]).encode(),
    ],
)
def test_a_file_that_is_cut_off_or_of_another_kind_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="no file of results"):
        read_results(data, "balanced")
