"""What a stored run would have become under other settings: re-decided by the live run's own pure functions.

No model, library or web is asked. What only a call could tell is said to be unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from crag.analysis.whatif.entries import Entry, Missing, Plan, Unknown
from crag.analysis.whatif.replay_plan import Planner
from crag.core.policy import uses_documents
from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Action, Decision, Strip
from crag.evaluation.refinement import make_strip


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf(Plan):
    """A stored run under other settings: what it would do, in place of the action `before`.

    `strips` are the stored strips with `kept` as it would be, by source id: of documents where `documents` is known, of
    web pages where `web` is.
    """

    before: Action | None
    strips: dict[str, tuple[Strip, ...]]

    @property
    def changes_action(self) -> bool:
        """Whether the action is known to differ from the stored run's."""
        return self.decision is not None and self.action != self.before


def redecide(trace: Trace, settings: Settings) -> WhatIf:
    """The stored run under `settings`: action, kept strips, and what would be unknown."""
    return Replay(trace).under(settings)


class Replay:
    """One stored run, ready to be re-decided many times: what no setting changes is worked out once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._planner = Planner(Entry.of(trace))
        self._strips = trace.all_strips

    def under(self, settings: Settings) -> WhatIf:
        """As `redecide` does."""
        plan = self._planner.plan(settings)
        planned = {each.name: getattr(plan, each.name) for each in fields(plan)}
        strips = self._documents(plan, settings) | self._pages(plan, settings)
        return WhatIf(**planned, before=self.trace.action, strips=strips)

    def _documents(self, plan: Plan, settings: Settings) -> dict[str, tuple[Strip, ...]]:
        """The strips of the chunks that would be used; none where that is unknown."""
        if plan.documents != "known":
            return {}
        if plan.cut:
            return self._filtered(plan.chunks, settings)
        return {id: (_whole(self.trace.rounds[: plan.round + 1], id, settings),) for id in plan.chunks}

    def _pages(self, plan: Plan, settings: Settings) -> dict[str, tuple[Strip, ...]]:
        """The strips of the web pages; none where what would be kept is unknown."""
        if plan.web != "known":
            return {}
        pages = tuple(page.id for page in self.trace.pages)
        return self._filtered(pages, settings) if settings.refine_web else {id: self.trace.strips[id] for id in pages}

    def _filtered(self, sources: tuple[str, ...], settings: Settings) -> dict[str, tuple[Strip, ...]]:
        """The strips of these sources with the filter applied again."""
        chosen = self._planner.chosen(sources, settings)
        found: dict[str, list[Strip]] = {id: [] for id in sources}
        for place, strip in enumerate(self._strips):
            if strip.source_id in found:
                kept, why = place in chosen, chosen.get(place, "")
                same = (strip.kept, strip.why) == (kept, why)
                found[strip.source_id].append(strip if same else replace(strip, kept=kept, why=why))
        return {id: tuple(strips) for id, strips in found.items()}


def _whole(rounds: Sequence[Round], id: str, settings: Settings) -> Strip:
    """A chunk that is used as it is."""
    text = next(found.chunk.text for each in rounds for found in each.chunks if found.chunk.id == id)
    grades = [each.grades[id] for each in rounds if id in each.grades]
    grade = grades[0] if grades and settings.evaluator == "chunk" else None
    return make_strip(id, text, "internal", 0, len(text), grade.score if grade else None, kept=True)


_NO_LOOP = Unknown(Missing.NO_LOOP)
_EXACT = 1e-9
"""What a hundredth as a float may be off."""


def _ended(settings: Settings, trace: Trace) -> Settings:
    """The same without another search of the library than those that the run made."""
    return settings.model_copy(update={"max_rewrites": len(trace.rounds) - 1})


Threshold = Literal["upper", "lower", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move of one threshold, or of both where they are one, that ends a run in another action.

    `decision` is what would be acted on, without another search of the library than those that the run made.
    """

    threshold: Threshold
    before: float
    after: float
    decision: Decision

    @property
    def settings(self) -> dict[str, float]:
        """The settings that it changes."""
        return _moved(self.threshold, self.after)


def relaxing_moves(trace: Trace) -> tuple[Move, ...]:
    """By which a run that did without the library's chunks answers from them: each the smallest, to a hundredth, that
    changes the action; the smaller of the two first.

    None of a run that graded nothing or whose action was forced, and where no move down leads there.
    """
    settings = trace.run_settings
    if settings.forced or uses_documents(trace.action, settings):
        return ()
    planner = Planner(Entry.of(trace))
    thresholds: tuple[Threshold, ...] = ("both",) if settings.binary else ("upper", "lower")
    moves = filter(None, (_relax(planner, trace, settings, each) for each in thresholds))
    return tuple(sorted(moves, key=lambda move: move.before - move.after))


def _relax(planner: Planner, trace: Trace, settings: Settings, threshold: Threshold) -> Move | None:
    own = settings.lower if threshold == "lower" else settings.upper
    least = settings.lower if threshold == "upper" else 0.0
    for place in range(math.floor(own * 100 + _EXACT), math.ceil(least * 100 - _EXACT) - 1, -1):
        changed = settings.model_copy(update=_moved(threshold, place / 100))
        decision, _, reason = planner.decision(changed)
        if reason == _NO_LOOP:
            decision, _, _ = planner.decision(_ended(changed, trace))
        if decision is not None and decision.action is not trace.action:
            move = Move(threshold=threshold, before=own, after=place / 100, decision=decision)
            return move if uses_documents(decision.action, settings) else None
    return None


def _moved(threshold: Threshold, to: float) -> dict[str, float]:
    return dict.fromkeys(("lower", "upper") if threshold == "both" else (threshold,), to)
