"""Which questions are voted on, the drawn order, and the count with its interval."""

from __future__ import annotations

from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.votes import left_of, tally, vote_pairs
from crag.messages.evaluations import tally_sentence


def row(id: str, answer: str, **known: object) -> ResultRow:
    return ResultRow(question_id=id, question="?", answer=answer, **known)  # type: ignore[arg-type]


def test_only_answers_that_differ_are_voted_on() -> None:
    first = [row("same", "In 280 BC [1]."), row("other", "In 280 BC."), row("failed", "x", problem="It failed.")]
    second = [row("other", "In 1871."), row("same", "In 280 BC [2]."), row("failed", "y"), row("new", "z")]
    assert [(one.question_id, other.answer) for one, other in vote_pairs(first, second)] == [("other", "In 1871.")]


def test_the_order_is_drawn_and_stays() -> None:
    ids = [f"q{number}" for number in range(400)]
    drawn = [left_of(("a", "b"), id) for id in ids]
    assert drawn == [left_of(("b", "a"), id) for id in ids], "whichever is the baseline"
    assert 150 < drawn.count("a") < 250
    assert drawn != [left_of(("a", "c"), id) for id in ids]


def test_votes_are_counted_with_an_interval_of_those_that_decide() -> None:
    choices = ["a"] * 3 + ["b"] * 9 + ["both"] * 4 + ["neither"]
    found = tally(("a", "b"), {str(number): choice for number, choice in enumerate(choices)})
    assert (found.votes, found.first, found.second, found.both, found.neither) == (17, 3, 9, 4, 1)
    assert found.preferred.value == 0.75 and found.preferred.of == 12
    assert tally_sentence(found, ("A", "B")) == (
        "Of 17 votes, 3 for A, 9 for B, 4 for both, 1 for neither. B is preferred in 75% of the 12 that decide "
        "(95 % interval 47% to 91%)."
    )
    assert tally_sentence(tally(("a", "b"), {"1": "both"}), ("A", "B")).endswith("None decides between the two.")
