"""What a stored run would have become under other settings: re-decided by the live run's own pure functions.

No model, library or web is asked. What only a call could tell is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.analysis.whatif.entries import Documents, Entry, Unknown, Web
from crag.analysis.whatif.replay_plan import Plan, Planner
from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Action, Decision, Strip
from crag.evaluation.keeping import Rule
from crag.evaluation.refinement import make_strip
from crag.evaluation.strips import filter_strips


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A stored run under other settings.

    `decision` is None for plain RAG, and where it can't be known without new grades. `strips` are the stored strips
    with `kept` as it would be, by source id: of documents where `documents` is known, of web pages where `web` is.
    `unknown` lists what only a new run could tell.
    """

    before: Action | None
    decision: Decision | None
    round: int
    strips: dict[str, tuple[Strip, ...]]
    documents: Documents
    web: Web
    unknown: tuple[Unknown, ...]

    @property
    def action(self) -> Action | None:
        return self.decision.action if self.decision else None

    @property
    def changes_action(self) -> bool:
        """Whether the action is known to differ from the stored run's."""
        return self.decision is not None and self.action != self.before


def redecide(trace: Trace, settings: Settings) -> WhatIf:
    """The stored run under `settings`: action, kept strips, and what would be unknown."""
    plan = Planner(Entry.of(trace)).plan(settings)
    return WhatIf(
        before=trace.action,
        decision=plan.decision,
        round=plan.round,
        strips={**_documents(trace, plan, settings), **_pages(trace, plan, settings)},
        documents=plan.documents,
        web=plan.web,
        unknown=(plan.reason,) if plan.reason else plan.open,
    )


def _documents(trace: Trace, plan: Plan, settings: Settings) -> dict[str, tuple[Strip, ...]]:
    """The strips of the chunks that would be used; none where that is unknown."""
    if plan.documents != "known":
        return {}
    if plan.cut:
        return _filter_groups({id: trace.strips[id] for id in plan.chunks}, settings)
    return {id: (_whole(trace.rounds[: plan.round + 1], id, settings),) for id in plan.chunks}


def _whole(rounds: Sequence[Round], id: str, settings: Settings) -> Strip:
    """A chunk that is used as it is."""
    text = next(found.chunk.text for each in rounds for found in each.chunks if found.chunk.id == id)
    grades = [each.grades[id] for each in rounds if id in each.grades]
    grade = grades[0] if grades and settings.evaluator == "chunk" else None
    return make_strip(id, text, "internal", 0, len(text), grade.score if grade else None, kept=True)


def _pages(trace: Trace, plan: Plan, settings: Settings) -> dict[str, tuple[Strip, ...]]:
    """The strips of the web pages; none where what would be kept is unknown."""
    if plan.web != "known":
        return {}
    groups = {page.id: trace.strips[page.id] for page in trace.pages}
    return _filter_groups(groups, settings) if settings.refine_web else groups


def _filter_groups(groups: dict[str, tuple[Strip, ...]], settings: Settings) -> dict[str, tuple[Strip, ...]]:
    """The strips with the filter applied again."""
    strips = [strip for group in groups.values() for strip in group]
    if settings.strip_judge == "scores":
        strips = [replace(strip, selected=None) for strip in strips]
    strips_kept = filter_strips(strips, Rule.of(settings))
    return {id: tuple(strip for strip in strips_kept if strip.source_id == id) for id in groups}
