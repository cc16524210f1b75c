"""What the layer for sets tells beside the best chunk's score, as a page of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corpora.judging import evaluator_version
from corpora.measures import Floats, auc, calibration_error
from crag.core.strategies import strategy

Truths = NDArray[np.bool_]
How = Literal["with", "without", "miss", "few"]
RESAMPLES = 200
KINDS = {
    "prose": "articles of an encyclopedia",
    "stories": "fairy tales",
    "reports": "tables and text of annual reports",
    "tables": "tables of airlines",
    "pairs": "paragraphs, with an unanswerable twin",
    "times": "who, at which time",
    "nq": "questions of a search engine",
    "names": "people and works, and others",
    "several": "answered by several passages",
    "filings": "FinanceBench, not fitted on",
}
"""Kinds of questions, in the page's order."""


@dataclass(frozen=True, slots=True)
class FitRow:
    """A retrieval, and whether it holds what answers: as it is, without that, of a near miss, or its first few alone.

    `group` is the document that folds go by; `readings` are the fields of `crag.core.types.SetReadings`.
    """

    id: str
    kind: str
    group: str
    how: How
    miss: str
    sufficient: bool
    readings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows side by side: both scores, the truth, and what each row is."""

    best: Floats
    chance: Floats
    right: Truths
    how: NDArray[np.str_]
    group: NDArray[np.str_]

    def part(self, chosen: NDArray[Any]) -> Rows:
        """The rows of a mask or of places."""
        return Rows(self.best[chosen], self.chance[chosen], self.right[chosen], self.how[chosen], self.group[chosen])

    @property
    def answerable(self) -> Truths:
        return (self.how == "with") & self.right

    def of(self, how: str) -> Truths:
        return self.how == how


def page(rows: Sequence[FitRow], chance: Floats, weights: Mapping[str, float], bias: float) -> str:
    """The page. `chance`: the probability of each row, of those that are fitted on by the other folds' weights."""
    settings = strategy("balanced").settings
    kinds = np.array([row.kind for row in rows])
    whole = Rows(
        best=np.array([row.readings["best"] for row in rows]),
        chance=chance,
        right=np.array([row.sufficient for row in rows]),
        how=np.array([row.how for row in rows]),
        group=np.array([row.group for row in rows]),
    )
    misses = np.array([row.miss for row in rows])
    fitted = whole.part(kinds != "filings")
    parts = {"all but filings": fitted, **{kind: whole.part(kinds == kind) for kind in KINDS if (kinds == kind).any()}}
    upper, lower = settings.upper, settings.lower
    lines = [
        "# The score of the set",
        "",
        f"By `python -m training.calibrate_sets --out benchmarks/results`, evaluator {evaluator_version()}. "
        f"{len({row.id.rpartition('/')[0] for row in rows}):,} questions, {len(rows):,} retrievals of ten chunks, "
        f"{len(set(fitted.group)):,} documents in five folds. A probability is by weights that were fitted on other "
        "documents; of filings by weights that were fitted on no filing, though they helped to choose the readings. "
        "Brackets: 90 % of resamples by document.",
        "",
        "## Does the retrieval hold what answers?",
        "",
        "| kind | documents | retrievals | AUC, best chunk | set | difference | calibration error, best chunk | set |",
        "|---|---|---|---|---|---|---|---|",
        *(_told(kind, part) for kind, part in parts.items()),
        "",
        f"## The action of `balanced`, thresholds {upper} and {lower}",
        "",
        "Best chunk → set. At equal CORRECT: the threshold of the set's score that leaves as many answerable questions "
        "CORRECT as the best chunk does.",
        "",
        "| kind | answerable CORRECT | answerable INCORRECT | near misses | CORRECT | INCORRECT | at equal CORRECT | "
        "what answers taken out | CORRECT | INCORRECT | at equal CORRECT |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(_acted(kind, part, upper, lower) for kind, part in parts.items()),
        "",
        "## Near misses by what they miss",
        "",
        "| near miss | questions | CORRECT | INCORRECT |",
        "|---|---|---|---|",
    ]
    for name in dict.fromkeys(sorted(filter(None, misses.tolist()))):
        for where, chosen in (("", kinds != "filings"), (", filings", kinds == "filings")):
            part = whole.part((misses == name) & chosen)
            if part.right.size:
                lines.append(
                    f"| {name}{where} | {part.right.size} | {_both(part, lambda s: s >= upper)} "
                    f"| {_both(part, lambda s: s < lower)} |"
                )
    lines += ["", "## The layer", "", "| reading | weight |", "|---|---|"]
    lines += [f"| {name} | {weight:+.3f} |" for name, weight in {**weights, "bias": bias}.items()]
    return "\n".join(lines) + "\n"


def _told(kind: str, part: Rows) -> str:
    def gain(rows: Rows) -> float:
        return auc(rows.right, rows.chance) - auc(rows.right, rows.best)

    return (
        f"| {_name(kind)} | {len(set(part.group))} | {part.right.size} | {auc(part.right, part.best):.3f} "
        f"| {auc(part.right, part.chance):.3f} | {gain(part):+.3f} {interval(part, gain)} "
        f"| {calibration_error(part.right, part.best):.3f} | {calibration_error(part.right, part.chance):.3f} |"
    )


def _acted(kind: str, part: Rows, upper: float, lower: float) -> str:
    own = part.part(part.answerable)
    cells = [_both(own, lambda s: s >= upper), _both(own, lambda s: s < lower)]
    for how in ("miss", "without"):
        other = part.part(part.of(how))
        if not other.right.size:
            cells += ["–"] * 4
            continue

        def fewer(rows: Rows, how: str = how) -> float:
            return equal(rows, how, upper) - float((rows.best[rows.of(how)] >= upper).mean())

        cells += [str(other.right.size), _both(other, lambda s: s >= upper), _both(other, lambda s: s < lower)]
        cells.append(f"{equal(part, how, upper):.3f}, {fewer(part):+.3f} {interval(part, fewer)}")
    return f"| {_name(kind)} | {' | '.join(cells)} |"


def _name(kind: str) -> str:
    return f"{kind}: {KINDS[kind]}" if kind in KINDS else kind


def _both(part: Rows, falls: Callable[[Floats], NDArray[Any]]) -> str:
    """The share of rows of which that is true, by either score."""
    return f"{falls(part.best).mean():.3f} → {falls(part.chance).mean():.3f}"


def equal(rows: Rows, how: str, upper: float) -> float:
    """The share of rows `how` that the set's score makes CORRECT where it leaves answerable ones so as often."""
    own = np.sort(rows.chance[rows.answerable])[::-1]
    count = int((rows.best[rows.answerable] >= upper).sum())
    return float((rows.chance[rows.of(how)] >= own[count - 1]).mean()) if count else 0.0


def interval(rows: Rows, figure: Callable[[Rows], float]) -> str:
    """From where to where nine of ten resamples of the documents put a figure."""
    dice = np.random.default_rng(0)
    names, place = np.unique(rows.group, return_inverse=True)
    members = [np.flatnonzero(place == number) for number in range(len(names))]
    drawn = []
    for _ in range(RESAMPLES):
        taken = np.concatenate([members[number] for number in dice.integers(0, len(names), len(names))])
        sample = rows.part(taken)
        if all(sample.of(how).any() for how in set(rows.how)) and sample.answerable.any():
            drawn.append(figure(sample))
    low, high = np.percentile(drawn, [5, 95])
    return f"[{low:+.3f}, {high:+.3f}]"
