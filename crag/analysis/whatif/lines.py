"""What a stored run comes to wherever its two lines are put: a small table, for nothing changes between two scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crag.analysis.whatif.entries import Entry, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.core.settings import Settings
from crag.core.types import Decision
from crag.evaluation.trigger import aggregate_scores, bounds

_EXACT = 1e-9
"""What a hundredth as a float may be off."""

Decided = tuple[Decision | None, int, Unknown | None]
"""As `Planner.decision` gives it; the thresholds in it are those of one pair of its cell."""


class LineTable(NamedTuple):
    """The decisions of a run by the places of its lines.

    `lowers`, `uppers`: the hundredths of the line, in order and from 0, at which something may change. `cells`: by
    the lower line's place, then by the upper one's; None where the lower line would stand above the upper one.
    """

    lowers: tuple[int, ...]
    uppers: tuple[int, ...]
    cells: tuple[tuple[Decided | None, ...], ...]


def tabulate(entry: Entry, settings: Settings) -> LineTable:
    """Decide a run under `settings` for every pair of lines. Under yes-or-no grades both lines are one."""
    planner = Planner(entry)
    cuts = list(_cuts(planner, settings))
    lowers = _starts(cuts + [cut + settings.ambiguity_margin for cut in cuts])
    uppers = lowers if settings.binary else _starts(cuts)
    ends = lowers if settings.binary else (*(start - 1 for start in uppers[1:]), 100)

    def cell(lower: int, upper: int) -> Decided | None:
        if lower > upper or (settings.binary and lower < upper):
            return None
        return planner.decision(settings.model_copy(update={"lower": lower / 100, "upper": upper / 100}))

    return LineTable(lowers, uppers, tuple(tuple(cell(start, end) for end in ends) for start in lowers))


def _cuts(planner: Planner, settings: Settings) -> Iterator[float]:
    """All that is compared with a line."""
    for number in range(len(planner.entry.rounds)):
        grades = planner.grades(number, settings)
        if isinstance(grades, Unknown):
            return
        scores = [grade.score for grade in grades]
        yield from bounds(scores, settings.aggregation)
        score = aggregate_scores([each for each in scores if each is not None], settings.aggregation)
        yield from () if score is None else (score,)


def _starts(cuts: Iterable[float]) -> tuple[int, ...]:
    """The hundredths from which a line is above one more of the cuts; one that ties with a cut stands alone."""
    starts = {0}
    for place in (100 * cut for cut in cuts if 0 <= cut <= 1):
        starts |= {math.ceil(place - _EXACT), math.floor(place + _EXACT) + 1}
    return tuple(sorted(start for start in starts if start <= 100))
