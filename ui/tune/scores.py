"""The score histogram: every chunk score of the first retrievals, group by group, with both thresholds across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.core.makers import maker
from crag.core.settings import Settings
from crag.core.types import Action
from crag.thresholds.labelled import ChunkScore
from ui.kit import words
from ui.kit.safe import text

__all__ = ["Group", "Split", "grouped", "histogram"]

Split = Literal["all", "evaluator", "label"]
_BINS = 50
_LABELS = {True: "relevant", False: "not relevant", None: "no label"}


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Scores that are counted together: those known, how many fall in each of 50 bins over 0..1, how many failed."""

    name: str
    known: NDArray[np.float64]
    counts: NDArray[np.int64]
    failed: int


def grouped(scores: Sequence[ChunkScore], split: Split) -> list[Group]:
    """The scores in groups, in a fixed order; one group where nothing is split."""
    name: Callable[[ChunkScore], str] = {
        "all": lambda each: "all chunks",
        "evaluator": lambda each: maker(each.evaluator),
        "label": lambda each: _LABELS[each.relevant],
    }[split]
    parts: dict[str, list[float | None]] = {}
    for each in scores:
        parts.setdefault(name(each), []).append(each.score)
    order = list(_LABELS.values()) if split == "label" else sorted(parts)
    return [_group(name, parts[name]) for name in order if name in parts]


def _group(name: str, scores: Sequence[float | None]) -> Group:
    known = np.array([score for score in scores if score is not None], dtype=np.float64)
    counts, _ = np.histogram(known, bins=_BINS, range=(0, 1))
    return Group(name=name, known=known, counts=counts, failed=len(scores) - known.size)


def histogram(groups: Sequence[Group], settings: Settings) -> str:
    """A row of bars for each group, on one scale of scores; where each chunk falls, in numbers, failed ones too."""
    rows = "".join(_row(group) for group in groups)
    marks = [("upper", settings.upper)] if settings.binary else [("lower", settings.lower), ("upper", settings.upper)]
    lines = "".join(f'<b class="{name}" style="left:{value:.2%}"></b>' for name, value in marks)
    flags = "".join(_flag(name if len(marks) == 2 else "threshold", value) for name, value in marks)
    ticks = "".join(f'<span style="left:{tick * 25}%">{tick / 4:g}</span>' for tick in range(5))
    return (
        f'<div class="cx tune-scores"><div class="flags">{flags}</div><div class="rows">{rows}<div class="lines">'
        f'{lines}</div></div><div class="ticks" aria-hidden="true">{ticks}</div>{_tally(groups, settings)}'
        '<p class="legend">Relevance scores from 0 to 1. Bar heights are logarithmic, each row by its own highest; '
        "point at a bar for its count.</p></div>"
    )


def _flag(name: str, value: float) -> str:
    side = "before" if value > 0.5 else "after"
    return f'<div><span class="{side}" style="left:{value:.2%}"><i>{name} {value:.2f}</i></span></div>'


def _row(group: Group) -> str:
    highest = np.log1p(max(int(group.counts.max(initial=0)), 1))
    bars = "".join(
        f'<i style="height:{np.log1p(count) / highest:.0%}" title="{place / _BINS:.2f} to {(place + 1) / _BINS:.2f}: '
        f'{count:,}"></i>'
        if count
        else "<i></i>"
        for place, count in enumerate(group.counts.tolist())
    )
    failed = f", {group.failed:,} failed" if group.failed else ""
    about = f"{text(group.name)} <b>{group.known.size:,}</b>{failed}"
    return f'<div class="row"><span class="name">{about}</span><div class="bars" aria-hidden="true">{bars}</div></div>'


def _tally(groups: Sequence[Group], settings: Settings) -> str:
    known = np.concatenate([group.known for group in groups]) if groups else np.empty(0)
    above, below = int((known >= settings.upper).sum()), int((known < settings.lower).sum())
    counts = {Action.CORRECT: above, Action.AMBIGUOUS: known.size - above - below, Action.INCORRECT: below}
    upper, lower = ("", "") if settings.binary else (" upper", " lower")
    said = {
        Action.CORRECT: "at or above" + upper,
        Action.AMBIGUOUS: "between",
        Action.INCORRECT: "below" + lower,
    }
    shown = [
        f'<span><span class="verdict {action.lower()}">{words.ICONS[action]}</span> '
        f"<b>{number:,}</b> {said[action]}</span>"
        for action, number in counts.items()
        if number or not (settings.binary and action is Action.AMBIGUOUS)
    ]
    failed = sum(group.failed for group in groups)
    if failed:
        shown.append(f"<span>? <b>{failed:,}</b> {'grade' if failed == 1 else 'grades'} failed: no score</span>")
    return f'<div class="figures">{"".join(shown)}</div>'
