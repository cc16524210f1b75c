"""Which questions are alike, and how they fall into groups."""

from __future__ import annotations

import numpy as np
import pytest

from crag.analysis.gaps import alike, groups
from tests.support.local_models import parts
from tests.support.small_library import WordEmbedder

SAME = "How long does the moon take to circle the earth?"


@pytest.mark.parametrize(
    ("other", "like"),
    [
        ("How long does the moon need to circle the earth?", True),
        ("how long does the moon take to circle the Earth", True),
        ("How long does the moon take to circle the earth 2 times?", False),
    ],
)
def test_the_same_in_other_words_is_alike(other: str, like: bool) -> None:
    near = alike([SAME, other], WordEmbedder())
    assert near.tolist() == [[True, like], [like, True]]


def test_other_names_and_numbers_are_other_questions() -> None:
    questions = [
        "Why did the airplane skid off the runway at Wausau?",
        "Why did the airplane skid off the runway at Denver?",
        "Why did the airplane skid off the runway?",
        "In FY 2017, how many claims were handled?",
        "In FY 2019, how many claims were handled?",
    ]
    assert alike(questions, WordEmbedder())[:3, :3].tolist() == [
        [True, False, True],
        [False, True, True],
        [True, True, True],
    ]
    assert not alike(questions, WordEmbedder())[3, 4]


def test_by_the_model_that_ships_other_words_are_alike_and_other_things_are_not() -> None:
    embedder = parts()["embedder"]
    for first, second, like in (
        (
            "Why did the airplane skid off the runway at Wausau?",
            "What made the plane slide off the runway in Wausau?",
            1,
        ),
        ("How many remote workers does the agency have?", "How many employees of the agency work remotely?", 1),
        ("Who is the chief executive?", "What is the refund policy?", 0),
        ("What is the warranty period?", "What is the notice period?", 0),
    ):
        assert alike([first, second], embedder)[0, 1] == bool(like), (first, second)


def test_groups_begin_with_their_most_central_question() -> None:
    near = np.eye(5, dtype=bool)
    for a, b in ((0, 1), (1, 2), (3, 1)):
        near[a, b] = near[b, a] = True
    assert groups(near) == [[1, 0, 2, 3], [4]]
    assert groups(np.eye(2, dtype=bool)) == [[0], [1]]
    assert groups(np.zeros((0, 0), bool)) == []
