"""Which questions ask for the same thing in other words, by their vectors and by what they name. Pure but for those."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crag.core.protocols import Embedder, QuestionEmbedder

LIKE = 0.7
"""Questions whose vectors' cosine is at least this are alike; how that was found: docs/decisions/keeping.md."""

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=\S\s)\W*([^\W\d_]\w+)")


def alike(questions: Sequence[str], embedder: Embedder) -> NDArray[np.bool_]:
    """Whether each of n questions asks for the same as each other, (n, n), symmetric, and with itself always.

    Beside near vectors it takes the same numbers, and of two that both name something (a word with a capital letter
    that does not open the question) one name in common: "in 2017" is not "in 2019", Wausau is not Denver.
    """
    vectors = np.stack([_vector(question, embedder) for question in questions])
    near = vectors @ vectors.T >= LIKE
    numbers = [sorted(_NUMBER.findall(question)) for question in questions]
    names = [_names(question) for question in questions]
    for row, column in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        apart = names[row] and names[column] and not names[row] & names[column]
        if numbers[row] != numbers[column] or apart:
            near[row, column] = near[column, row] = False
    np.fill_diagonal(near, True)
    return near


def groups(near: NDArray[np.bool_]) -> list[list[int]]:
    """The n questions in groups, the most central question of each first: the one that most of those left are like.

    Each question is in one group, with the one that heads it; of equals the first.
    """
    left = np.ones(len(near), bool)
    found = []
    while left.any():
        counts = (near & left).sum(axis=1) * left
        head = int(np.argmax(counts))
        members = np.flatnonzero(near[head] & left)
        found.append([head, *(int(each) for each in members if each != head)])
        left[members] = False
    return found


def _vector(question: str, embedder: Embedder) -> NDArray[np.float32]:
    if isinstance(embedder, QuestionEmbedder):
        return embedder.embed_question(question)
    found: NDArray[np.float32] = embedder.embed([question])[0]
    return found


def _names(question: str) -> set[str]:
    return {word.casefold() for word in _NAME.findall(" ".join(question.split())) if word[0].isupper()}
