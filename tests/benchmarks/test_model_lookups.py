"""How the answers of a language model to look-ups are judged, and what its page counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.model_lookups import Row, outcome_of, report

RIGHT = Row(
    arm="fact",
    question="q",
    made_of="m",
    kind="cell",
    source="a",
    values=["5"],
    answer="5",
    outcome="right",
    marked=False,
    against=False,
    lookup="found",
    seconds=2.0,
)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Net sales were $163,220 million in fiscal 2020 [1].", "right"),
        ("They were $163.2 billion [2].", "right"),
        ("They were 192,052 [1].", "wrong"),
        ("The sources of 2020 do not say [1].", "refused"),
    ],
)
def test_an_answer_is_judged_by_the_amounts_that_it_gives(answer: str, outcome: str) -> None:
    assert outcome_of(answer, ["163,220"]) == outcome


def test_an_amount_for_a_near_miss_is_wrong() -> None:
    assert outcome_of("They were 192,052 [1].", []) == "wrong"


def test_what_the_flag_alone_marks_is_marked_in_the_third_arm_only() -> None:
    wrong = replace(RIGHT, outcome="wrong", marked=True, against=True)
    rows = [replace(wrong, arm="without", marked=False, against=False), wrong]
    silent = [line.split("|")[-2].split()[0] for line in report(rows, "model").splitlines() if line.startswith("| the")]
    assert silent[1:4] == ["1.00", "1.00", "0.00"]
