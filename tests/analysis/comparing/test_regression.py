"""A baseline and a change: what counts as right, what got worse first, the interval, files, what is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from crag.analysis.funnel import Step
from crag.analysis.metrics.metrics import ResultRow, rank_expected
from crag.analysis.questions.adapters import UNANSWERABLE, json_export
from crag.analysis.questions.sets import Question
from crag.analysis.regression import Measured, Regression, compare, is_right, read_baseline, to_cells
from crag.core.errors import InputError
from crag.core.types import Action
from crag.export.explanations import regression_record, report
from crag.messages.evaluations import change_text, left_out_notes, regression_sentence, stages_text


def question(id: str, **known: Any) -> Question:
    return Question(id=id, question=f"What of {id}?", **{"answers": ("1871",), **known})


def row(id: str, holds: bool | None = True, **known: Any) -> ResultRow:
    return ResultRow(question_id=id, question=f"What of {id}?", **{"answer_holds": holds, "abstained": False, **known})


def side(rows: list[ResultRow], steps: dict[str, Step | None] | None = None, **known: Any) -> Measured:
    given = {"id": "e", "set_id": "set", "strategy": "balanced", "documents": "a", **known}
    return Measured(rows=tuple(rows), steps=steps or {}, **given)


def of(lost: int, won: int, same: int) -> Regression:
    """A set with this number of questions of each kind."""
    count = lost + won + same
    questions = [question(f"q{number}") for number in range(count)]
    before = [row(f"q{number}", not lost <= number < lost + won) for number in range(count)]
    now = [row(f"q{number}", number >= lost) for number in range(count)]
    return compare(side(before), side(now), questions)


def test_right_is_what_the_finest_label_says() -> None:
    page = question("q", answers=(), sources=("report.pdf",), pages=(3,))
    none = question("q", answers=(), labels=(UNANSWERABLE,))
    assert is_right(question("q"), row("q", True), {"q": "search"}) is True
    assert is_right(question("q"), row("q", None, problem="The run was stopped."), {}) is False
    assert is_right(page, row("q", None), {"q": None}) is True
    assert is_right(page, row("q", None), {"q": "support"}) is True, "it is cited"
    assert is_right(page, row("q", None), {"q": "evidence"}) is False
    assert is_right(page, row("q", None), {}) is None, "its run was deleted"
    assert is_right(none, row("q", None, abstained=True), {}) is True
    assert is_right(none, row("q", None), {}) is False
    assert is_right(question("q", answers=()), row("q", None), {"q": None}) is None


def test_the_gate_closes_where_the_whole_interval_lies_below_zero() -> None:
    assert of(lost=8, won=0, same=32).is_worse
    assert not of(lost=3, won=0, same=37).is_worse, "may be chance"
    assert of(lost=4, won=0, same=36).is_worse
    assert not of(lost=8, won=5, same=27).is_worse
    better = of(lost=0, won=8, same=32)
    assert not better.is_worse and regression_sentence(better).startswith("Better: ")
    same = of(lost=0, won=0, same=40)
    assert (same.is_worse, same.worse, same.better) == (False, (), ())
    assert not of(lost=1, won=0, same=0).is_worse, "one question has no interval"


def test_what_got_worse_comes_first_with_the_step_of_its_loss() -> None:
    asked = [question(id, sources=("report.pdf",), pages=(7,)) for id in ("a", "b", "c", "d", "e", "f")]
    before = [row("a"), row("b"), row("c", False), row("d", False), row("e", False, abstained=True), row("f")]
    now = [
        *(row("a", False), row("b", False), row("c", False, abstained=True), row("d", True)),
        *(row("e", False), row("f", None, problem="It failed.", abstained=None)),
    ]
    steps: dict[str, Step | None] = dict.fromkeys("abcde")
    found = compare(side(before, {**steps, "f": None}), side(now, {**steps, "a": "answer", "b": "search"}), asked)
    assert [each.question.id for each in found.worse] == ["b", "a", "f", "c"]
    assert [each.question.id for each in found.better] == ["d", "e"]
    b, a, failed, refused = found.worse
    assert (b.lost, b.now, b.before) == (("right", "cited"), "search", "passed")
    assert stages_text(a) == "Now: Between evidence and answer. Before: Passed every step."
    assert failed.lost == ("ended", "right", "cited") and refused.lost == ("answered",)
    assert change_text(refused) == "refused now"
    assert (found.right.first, found.right.second, found.right.pairs) == (0.5, pytest.approx(1 / 6), 6)


def test_the_documents_and_what_is_unknown_are_noted() -> None:
    asked = [question("a"), question("b", answers=()), question("c", answers=(), sources=("r.pdf",))]
    before, now = [row("a"), row("b", None), row("c", None)], [row("a"), row("b", None), row("c", None)]
    found = compare(side(before, {"c": None}), side(now, documents="b"), asked)
    assert (found.unlabelled, found.unknown, found.same_documents) == (1, 1, False)
    assert len(left_out_notes(found)) == 3
    assert compare(side(before, documents=""), side(now), asked).same_documents is None


@pytest.mark.parametrize(
    ("baseline", "asked", "says"),
    [
        (side([row("a")], set_id="other"), [question("a")], "another question set"),
        (side([row("b")]), [question("a"), question("b")], "no question in common"),
        (side([row("a", None)]), [question("a", answers=())], "nothing says what is worse"),
    ],
)
def test_what_cannot_be_compared_says_why(baseline: Measured, asked: list[Question], says: str) -> None:
    with pytest.raises(InputError, match=says):
        compare(baseline, side([row("a")]), asked)


FULL = row(
    "a", first_by_page=rank_expected("xa", "ab"), action=Action.CORRECT, step_seconds={"retrieve": 0.5}, run_id="r"
)


def written(*sides: Measured) -> bytes:
    cells = [each for one in sides for each in to_cells(one)]
    columns = list(dict.fromkeys(name for each in cells for name in each))
    return json_export(columns, [[each.get(name) for name in columns] for each in cells])


def test_a_file_of_results_is_read_as_it_was_written() -> None:
    one = side([FULL, row("b", None), row("c")], {"a": None, "b": "grade"})
    one = replace(one, rows=tuple(replace(each, strategy="balanced") for each in one.rows))
    assert read_baseline(written(one), "paper") == one, "a single strategy is taken whatever its name"
    other = replace(one, strategy="paper", rows=tuple(replace(each, strategy="paper") for each in one.rows), id="f")
    assert read_baseline(written(one, other), "paper") == other
    with pytest.raises(InputError, match="several strategies, and not joint"):
        read_baseline(written(one, other), "joint")
    with pytest.raises(InputError, match="several evaluations of one strategy"):
        read_baseline(written(one, replace(one, id="f")), "balanced")


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b"[]", b"{}", b"[1]", b'[{"question_id": "a"}]', b"[" * 100_000, written(side([FULL]))[:-40], b"\xff"],
)
def test_a_file_that_is_cut_off_or_of_another_kind_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="no file of results"):
        read_baseline(data, "balanced")


def test_the_report_lists_the_worse_first_and_escapes_foreign_text() -> None:
    hostile = replace(
        question("a", sources=("[x](http://127.0.0.1)|.pdf",), pages=(2,)), question="<img src=x> | **b**\n# c"
    )
    asked = [hostile, question("b")]
    found = compare(side([row("a"), row("b", False)]), side([row("a", False), row("b")]), asked)
    said = report(found)
    assert said.index("## Worse: 1 question") < said.index("## Better: 1 question")
    assert "\n# c" not in said and "<img" not in said.replace("\\<img", "") and "[x](" not in said
    assert "| Right answer or page | 0.500 | 0.500 | +0.000 |" in said
    assert all(line.count("|") == 7 for line in said.splitlines() if line.startswith("|"))
    record = regression_record(found)
    assert json.loads(json.dumps(record))["got_worse"][0]["question_id"] == "a"


def test_a_column_of_the_wrong_kind_is_refused() -> None:
    cells = json.loads(written(side([FULL])))
    with pytest.raises(InputError, match="no file of results"):
        read_baseline(json.dumps([{**cells[0], "calls": "many"}]).encode(), "balanced")
