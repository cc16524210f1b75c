"""Which questions can't be understood alone: only where that is clear."""

import json
from pathlib import Path

import pytest

from crag.generation.conversation.followup_detection import follows_on

DATA = Path(__file__).parents[3] / "benchmarks" / "data"


@pytest.mark.parametrize(
    "question",
    [
        *("And in 2018?", "What about Madill?", "Why?", "And how much was it?", "In which state?", "what about 2019"),
        *("When was that?", "How many of them are union members?", "Where is its headquarters?", "and for Nebraska?"),
        *("What was the target?", "How old was the pilot?", "The same for Nike?", "2019?", "And the year before?"),
    ],
)
def test_a_question_that_leaves_something_out_follows_on(question):
    assert follows_on(question)


@pytest.mark.parametrize(
    "question",
    [
        *("", "?", "   ", "Is it possible to retire at 60?", "Who is the author of It?", "How are claims processed?"),
        *("What did Boeing say about its 737 program?", "When a pilot errs, what should he do?", "x" * 5000),
        "And which Boeing programs lost money in 2022?",
    ],
)
def test_a_question_that_names_its_own_stands_alone(question):
    assert not follows_on(question)


def test_no_question_of_the_committed_sets_that_stands_alone_is_taken_for_a_follow_up():
    own = [json.loads(line)["question"] for line in (DATA / "standalone.jsonl").read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in (DATA / "followups.jsonl").read_text("utf-8").splitlines()]
    written = [each["standalone"] for row in rows for each in row["followups"]]
    every = [*own, *(row["question"] for row in rows), *written]
    assert len(every) >= 200 and [each for each in every if follows_on(each)] == []
