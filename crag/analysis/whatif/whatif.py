"""What a stored run would have become under other settings: re-decided by the live run's own pure functions.

No model, library or web is asked. What only a call could tell is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crag.analysis.whatif.entries import Documents, Entry, Unknown, Web
from crag.analysis.whatif.replay_plan import Plan, Planner, facts_of
from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Action, Decision, Strip
from crag.evaluation.keeping import Facts, Rule, choose
from crag.evaluation.refinement import make_strip


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
    return Replay(trace).under(settings)


class Replay:
    """One stored run, ready to be re-decided many times: what no setting changes is worked out once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._entry = Entry.of(trace)
        self._planner = Planner(self._entry)
        self._strips = [strip for group in trace.strips.values() for strip in group]
        self._facts: dict[bool, Facts] = {}

    def under(self, settings: Settings) -> WhatIf:
        """As `redecide` does."""
        plan = self._planner.plan(settings)
        return WhatIf(
            before=self.trace.action,
            decision=plan.decision,
            round=plan.round,
            strips={**self._documents(plan, settings), **self._pages(plan, settings)},
            documents=plan.documents,
            web=plan.web,
            unknown=(plan.reason,) if plan.reason else plan.open,
        )

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
        heeds = settings.strip_judge == "llm"
        if heeds not in self._facts:
            self._facts[heeds] = facts_of(self._entry, heeds)
        chosen = choose(self._facts[heeds], Rule.of(settings), used=sources)
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
