"""What the evaluator benchmark measures on: rows of question, text and label, and data sets of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Row:
    """One pair. `group` is the question's id: a group's texts are graded together. `label` 1: the text answers."""

    group: str
    question: str
    text: str
    label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """`title` and `about` are shown; `use` says whether the data may choose settings (dev) or only report (test).

    `judged` "question": a question's best score is compared with whether any of its texts answers.
    `ranking`: the order inside a question is measured too. `supports`: scores are read as the citation check does.
    """

    title: str
    about: str
    rows: Sequence[Row]
    use: Literal["test", "dev"] = "test"
    judged: Literal["pair", "question"] = "pair"
    ranking: bool = False
    supports: bool = False

    @property
    def labels(self) -> NDArray[np.int64]:
        return np.array([row.label for row in self.rows], np.int64)


def grouped(rows: Sequence[Row]) -> dict[str, list[int]]:
    """The places of each group's rows, groups in order of their first row."""
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(row.group, []).append(place)
    return found
