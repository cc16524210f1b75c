"""The score histogram: every chunk score of the first retrievals, group by group, with both thresholds across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.analysis.thresholds.recommend import ChunkScore
from crag.core.makers import maker
from crag.core.settings import Settings
from crag.core.types import Action
from ui.components import html as h
from ui.components import words
from ui.components.html import Html

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


def histogram(groups: Sequence[Group], settings: Settings) -> Html:
    """A row of bars for each group, on one scale of scores; where each chunk falls, in numbers, failed ones too."""
    rows = [_row(group) for group in groups]
    marks = [("upper", settings.upper)] if settings.binary else [("lower", settings.lower), ("upper", settings.upper)]
    lines = [h.b(name, style=f"left:{value:.2%}") for name, value in marks]
    flags = [_flag(name if len(marks) == 2 else "threshold", value) for name, value in marks]
    return h.div("cx tune-scores")[
        h.div("flags")[flags],
        h.div("rows")[rows, h.div("lines")[lines]],
        h.div("ticks", aria_hidden="true")[(h.span(style=f"left:{tick * 25}%")[f"{tick / 4:g}"] for tick in range(5))],
        _tally(groups, settings),
        h.p("legend")[
            "Relevance scores from 0 to 1. Bar heights are logarithmic, each row by its own highest; point at a bar "
            "for its count."
        ],
    ]


def _flag(name: str, value: float) -> Html:
    side = "before" if value > 0.5 else "after"
    return h.div[h.span(side, style=f"left:{value:.2%}")[h.i[f"{name} {value:.2f}"]]]


@lru_cache(maxsize=64)
def _row(group: Group) -> Html:
    """What no threshold changes: a group is one object as long as its scores are the same."""
    highest = np.log1p(max(int(group.counts.max(initial=0)), 1))
    bars = [
        h.i(
            style=f"height:{np.log1p(count) / highest:.0%}",
            title=f"{place / _BINS:.2f} to {(place + 1) / _BINS:.2f}: {count:,}",
        )
        if count
        else h.i
        for place, count in enumerate(group.counts.tolist())
    ]
    failed = f", {group.failed:,} failed" if group.failed else ""
    about = h.fragment(f"{group.name} ", h.b[f"{group.known.size:,}"], failed)
    return h.div("row")[h.span("name")[about], h.div("bars", aria_hidden="true")[bars]]


def _tally(groups: Sequence[Group], settings: Settings) -> Html:
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
        h.span[h.span(f"verdict {action.lower()}")[words.ICONS[action]], " ", h.b[f"{number:,}"], " ", said[action]]
        for action, number in counts.items()
        if number or not (settings.binary and action is Action.AMBIGUOUS)
    ]
    failed = sum(group.failed for group in groups)
    if failed:
        shown.append(h.span["? ", h.b[f"{failed:,}"], f" {'grade' if failed == 1 else 'grades'} failed: no score"])
    return h.div("figures")[shown]
