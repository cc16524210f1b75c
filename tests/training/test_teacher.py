"""What a large teacher reads: prompts in steps of like length, and the place of each one's last token."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training's own requirements are not installed")
pytest.importorskip("onnx", reason="training's own requirements are not installed")

from training.teacher import deal, pad  # noqa: E402


def test_every_prompt_is_in_one_step_and_no_step_is_too_large() -> None:
    lengths = [random.Random(number).randint(5, 90) for number in range(400)]
    steps = list(deal(lengths, 300, random.Random(1)))
    assert sorted(number for step in steps for number in step) == list(range(400))
    assert all(len(step) * max(lengths[number] for number in step) <= 300 for step in steps)
    assert sorted(steps) == sorted(deal(lengths, 300, random.Random(2))) and steps != list(
        deal(lengths, 300, random.Random(2))
    )


def test_a_prompt_longer_than_a_step_is_a_step_of_its_own() -> None:
    assert sorted(deal([400, 5, 6], 300, random.Random(1))) == [[0], [1, 2]]


def test_prompts_are_padded_behind_their_last_token() -> None:
    ids, last = pad([np.array([7, 8, 9]), np.array([5])], torch.device("cpu"))
    assert ids.tolist() == [[7, 8, 9], [5, 0, 0]] and last.tolist() == [2, 0]
