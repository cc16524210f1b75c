"""Blind votes on two evaluations: the questions, the order in which their answers are shown, and the count. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.intervals import Estimate, share
from crag.analysis.metrics.metrics import ResultRow

_MARKS = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many prefer the first's answer, the second's, both and neither.

    `preferred`: the second's share of the votes that decide between the two, with Wilson's interval.
    """

    first: int
    second: int
    both: int
    neither: int
    preferred: Estimate

    @property
    def votes(self) -> int:
        return self.first + self.second + self.both + self.neither


def same_answer(one: ResultRow, other: ResultRow) -> bool:
    """Whether both give the same answer, but for the numbers of citations."""
    said = [(" ".join(_MARKS.sub("", row.answer).split()), row.short_answer, row.abstained) for row in (one, other)]
    return bool(said[0][0]) and said[0] == said[1]


def vote_pairs(first: Sequence[ResultRow], second: Sequence[ResultRow]) -> list[tuple[ResultRow, ResultRow]]:
    """The questions that both ended with answers that differ, in the first's order."""
    theirs = {row.question_id: row for row in second}
    pairs = [(row, theirs[row.question_id]) for row in first if row.question_id in theirs]
    return [(one, other) for one, other in pairs if not (one.problem or other.problem) and not same_answer(one, other)]


def left_of(pair: tuple[str, str], question_id: str) -> str:
    """The evaluation whose answer stands left: drawn by a hash, so a reload and another person see the same."""
    ids = sorted(pair)
    drawn = hashlib.sha256("\n".join((*ids, question_id)).encode()).digest()[0]
    return ids[drawn % 2]


def tally(pair: tuple[str, str], votes: Mapping[str, str]) -> Tally:
    """Count votes, which are ids of the pair, "both" or "neither", by question id."""
    counts = Counter(votes.values())
    first, second = counts[pair[0]], counts[pair[1]]
    return Tally(
        first=first,
        second=second,
        both=counts["both"],
        neither=counts["neither"],
        preferred=share(second, first + second),
    )
