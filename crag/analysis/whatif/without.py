"""A stored run without some of its texts, and the smallest move of a threshold that ends it in another action.

No library or web is asked, and nothing takes the place of what is left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from crag.analysis.whatif.entries import Entry, Missing, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.analysis.whatif.whatif import Replay, WhatIf
from crag.core.errors import NotFoundError
from crag.core.protocols import SetGrader
from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Aggregation, Decision
from crag.evaluation.trigger import graded_texts

_NO_LOOP = Unknown(Missing.NO_LOOP)
_EXACT = 1e-9
"""What a hundredth as a float may be off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """A stored run without some of its texts. `trace` is its record without them, `left_out` their ids.

    `searches_again`: it would first search the library once more, with a rewritten query that is unknown; `what` is
    what follows from the texts that are left. `acted`: the ids of the chunks that it would act on.
    """

    left_out: frozenset[str]
    trace: Trace
    settings: Settings
    what: WhatIf
    searches_again: bool
    acted: tuple[str, ...]


def leave_out(trace: Trace, ids: Collection[str], set_grader: SetGrader | None = None) -> Without:
    """The run without these chunks, web pages and strips, by their ids.

    `set_grader` grades the remaining chunks as a set where the run did; without it, what that leads to is unknown.
    Raises NotFoundError for what the run does not have.
    """
    strips = {strip.id for each in trace.strips.values() for strip in each}
    if not strips.union(trace.sources).issuperset(ids):
        raise NotFoundError("This run has no such text.", "Choose from the chunks, web pages and strips listed.")
    settings, left = Settings.stored(trace.settings).settings, _reduce(trace, frozenset(ids))
    if settings.aggregation is Aggregation.SET:
        left = _grade_sets(trace, left, settings, set_grader)
    what, planner = Replay(left).under(settings), Planner(Entry.of(left))
    searches_again = what.decision is None and what.unknown == (_NO_LOOP,)
    if searches_again:
        what = Replay(left).under(_ended(settings, left))
    counted = {Missing.NO_SET: Missing.OTHER_SET, Missing.NO_JOINT: Missing.OTHER_JOINT}
    unknown = (replace(each, what=counted.get(each.what, each.what), k=_count(left)) for each in what.unknown)
    what = replace(what, unknown=tuple(unknown))
    acted = tuple(id for id, _ in planner.acted(what.round, settings)) if left.rounds else ()
    return Without(
        left_out=frozenset(ids),
        trace=left,
        settings=settings,
        what=what,
        searches_again=searches_again,
        acted=acted,
    )


def _count(trace: Trace) -> int:
    return len(trace.rounds[-1].chunks) if trace.rounds else 0


def _ended(settings: Settings, trace: Trace) -> Settings:
    """The same without another search of the library than those that the run made."""
    return settings.model_copy(update={"max_rewrites": len(trace.rounds) - 1})


def _reduce(trace: Trace, ids: frozenset[str]) -> Trace:
    strips = {
        source: tuple(strip for strip in each if strip.id not in ids)
        for source, each in trace.strips.items()
        if source not in ids
    }
    searches = tuple(
        replace(each, pages=tuple(page for page in each.pages if page.id not in ids)) for each in trace.searches
    )
    return replace(
        trace, rounds=tuple(_reduce_round(each, ids) for each in trace.rounds), strips=strips, searches=searches
    )


def _reduce_round(round: Round, ids: frozenset[str]) -> Round:
    chunks = tuple(found for found in round.chunks if found.chunk.id not in ids)
    return replace(
        round,
        chunks=chunks,
        grades={id: grade for id, grade in round.grades.items() if id not in ids},
        joint=round.joint if len(chunks) == len(round.chunks) else None,
        acted=tuple(id for id in round.acted if id not in ids),
    )


def _grade_sets(trace: Trace, left: Trace, settings: Settings, set_grader: SetGrader | None) -> Trace:
    """With the grades of the sets that are left; one that can't be made is unknown, and so what was decided by it."""
    before, planner = Planner(Entry.of(trace)), Planner(Entry.of(left))
    chunks = {found.chunk.id: found for each in reversed(left.rounds) for found in each.chunks}
    grades = {id: grade for each in reversed(left.rounds) for id, grade in each.grades.items()}
    rounds = []
    for number, round in enumerate(left.rounds):
        acted = [id for id, _ in planner.acted(number, settings)]
        if round.together is not None and acted != [id for id, _ in before.acted(number, settings)]:
            texts = graded_texts([chunks[id] for id in acted], grades, settings.grade_chars)
            together = set_grader.grade_set(trace.meant, texts) if set_grader is not None else None
            known = not texts or (together is not None and together.evaluator == round.together.evaluator)
            round = replace(round, together=together, decision=round.decision if known else None)
        rounds.append(round)
    return replace(left, rounds=tuple(rounds))


Threshold = Literal["upper", "lower", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move of one threshold, or of both where they are one, that ends a run in another action.

    `decision` is what would be acted on; `searches_again` as in `Without`.
    """

    threshold: Threshold
    before: float
    after: float
    decision: Decision
    searches_again: bool

    @property
    def settings(self) -> dict[str, float]:
        """The settings that it changes."""
        return _moved(self.threshold, self.after)


def smallest_moves(trace: Trace) -> tuple[Move, ...]:
    """Of each threshold the smallest move, to a hundredth, that changes the action; the smaller of the two first.

    None of a run that graded nothing or whose action was forced, and where no move would change it.
    """
    settings = Settings.stored(trace.settings).settings
    if trace.action is None or settings.forced:
        return ()
    planner = Planner(Entry.of(trace))
    thresholds: tuple[Threshold, ...] = ("both",) if settings.binary else ("upper", "lower")
    moves = filter(None, (_smallest(planner, trace, settings, each) for each in thresholds))
    return tuple(sorted(moves, key=lambda move: abs(move.after - move.before)))


def _smallest(planner: Planner, trace: Trace, settings: Settings, threshold: Threshold) -> Move | None:
    own = settings.lower if threshold == "lower" else settings.upper
    least, most = settings.lower if threshold == "upper" else 0.0, settings.upper if threshold == "lower" else 1.0
    hundredths = range(math.ceil(least * 100 - _EXACT), math.floor(most * 100 + _EXACT) + 1)
    for after in sorted((place / 100 for place in hundredths), key=lambda value: abs(value - own)):
        changed = settings.model_copy(update=_moved(threshold, after))
        decision, _, reason = planner.decision(changed)
        if again := reason == _NO_LOOP:
            decision, _, _ = planner.decision(_ended(changed, trace))
        if decision is not None and decision.action is not trace.action:
            return Move(threshold=threshold, before=own, after=after, decision=decision, searches_again=again)
    return None


def _moved(threshold: Threshold, to: float) -> dict[str, float]:
    return dict.fromkeys(("lower", "upper") if threshold == "both" else (threshold,), to)
