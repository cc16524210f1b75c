"""What a stored run would have become under other settings: re-decided by the live run's own pure functions.

No model, library or web is asked. What only a call could tell is said to be unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from crag.core.policy import keeps_chunk, loops, refines, searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Action, Decision, Grade, Strip
from crag.core.wording import decision_sentence
from crag.correct.strips import filter_strips
from crag.evaluator.trigger import decide

__all__ = ["WhatIf", "redecide"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A stored run under other settings.

    `decision` is None for plain RAG, and where it can't be known without new grades. `strips` are the stored strips
    with `kept` as it would be, by source id. `web` and `documents` say whether what they would bring is known
    from the run. `unknown` lists, in words, what only a new run could tell.
    """

    before: Action | None
    decision: Decision | None
    sentence: str
    round: int
    strips: dict[str, tuple[Strip, ...]]
    documents: Literal["not used", "known", "unknown"]
    web: Literal["not needed", "known", "unknown"]
    unknown: tuple[str, ...]

    @property
    def action(self) -> Action | None:
        return self.decision.action if self.decision else None

    @property
    def flips(self) -> bool:
        """Whether the action is known to differ from the stored run's."""
        return self.decision is not None and self.action != self.before


def redecide(trace: Trace, settings: Settings) -> WhatIf:
    """The stored run under `settings`: action, kept strips, and what would be unknown."""
    unknown: list[str] = []
    decision, number = _decision(trace, settings, unknown)
    documents: Literal["not used", "known", "unknown"] = "not used"
    web: Literal["not needed", "known", "unknown"] = "not needed"
    strips: dict[str, tuple[Strip, ...]] = {}
    graded = settings.evaluator != "none"
    if decision is not None or not graded:
        action = decision.action if decision else None
        if uses_documents(action, settings):
            own = _document_strips(trace, number, action, settings)
            documents = "unknown" if own is None else "known"
            if own is not None:
                strips.update(own)
            else:
                unknown.append("Which strips of your documents would be kept: they were never scored in this run.")
        if searches_web(action, settings):
            web = "known" if trace.searches else "unknown"
            if web == "known":
                pages = {page.id for page in trace.pages}
                strips.update(_filtered(trace, pages, settings, settings.refine_web))
                if settings.refine_web and not _judged(trace, pages, settings):
                    unknown.append("Which strips of web pages a language model would keep: it did not read them.")
            else:
                unknown.append("What the web would bring: it was not searched in this run.")
    sentence = decision_sentence(decision) if decision else ("" if graded else "Plain RAG: nothing is graded.")
    return WhatIf(
        before=trace.action,
        decision=decision,
        sentence=sentence,
        round=number,
        strips=strips,
        documents=documents,
        web=web,
        unknown=tuple(unknown),
    )


def _decision(trace: Trace, settings: Settings, unknown: list[str]) -> tuple[Decision | None, int]:
    """The decision that would be acted on, and the round it belongs to."""
    if settings.evaluator == "none" or not trace.rounds:
        return None, 0
    for number, stored in enumerate(trace.rounds):
        grades = _grades(trace, stored, settings, unknown)
        if grades is None:
            return None, number
        decision = decide(grades, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation)
        if not loops(decision.action, round=number, settings=settings):
            return decision, number
        if number + 1 == len(trace.rounds) and not _loop_ended_early(trace, number):
            unknown.append("Where the corrective loop would lead: the library was not searched again in this run.")
            return None, number
    return decision, number


def _loop_ended_early(trace: Trace, number: int) -> bool:
    """Whether the live run wanted another retrieval after this round and had no new query for it."""
    return any(step.step == "rewrite" and step.round == number for step in trace.steps) and not any(
        rewrite.purpose == "library" for rewrite in trace.rewrites[number:]
    )


def _grades(trace: Trace, stored: Round, settings: Settings, unknown: list[str]) -> list[Grade] | None:
    """The stored grades that `settings` would look at; None where a new grade would be needed."""
    was = Settings.checked(trace.settings)
    if settings.grade_chars != was.grade_chars:
        unknown.append("How the chunks would score with another length of text graded.")
        return None
    if settings.evaluator == "joint":
        if stored.joint is None or settings.k != was.k:
            unknown.append("How all chunks would score together: this run graded them one by one.")
            return None
        return [stored.joint]
    if settings.k > len(stored.chunks) and len(stored.chunks) == was.k:
        unknown.append(f"How chunks after the first {was.k} would score: they were not retrieved.")
        return None
    chunks = stored.chunks[: settings.k]
    if any(found.chunk.id not in stored.grades for found in chunks):
        unknown.append("How each chunk would score: this run did not grade them one by one.")
        return None
    return [stored.grades[found.chunk.id] for found in chunks]


def _document_strips(
    trace: Trace, number: int, action: Action | None, settings: Settings
) -> dict[str, tuple[Strip, ...]] | None:
    """The strips of the round's chunks that would be used; None where they were never cut and scored."""
    stored = trace.rounds[number] if trace.rounds else Round(query="")
    chunks = [
        found.chunk for found in stored.chunks[: settings.k] if keeps_chunk(stored.grades.get(found.chunk.id), settings)
    ]
    if refines(action, settings):
        was = Settings.checked(trace.settings)
        same_cut = (was.strips, was.strip_sentences) == (settings.strips, settings.strip_sentences)
        cut = all(chunk.id in trace.strips for chunk in chunks) and refines(trace.action, was)
        ids = {chunk.id for chunk in chunks}
        return _filtered(trace, ids, settings, True) if same_cut and cut and _judged(trace, ids, settings) else None
    return {
        chunk.id: (
            Strip(
                id=f"{chunk.id}:0-{len(chunk.text)}",
                source_id=chunk.id,
                origin="internal",
                start=0,
                end=len(chunk.text),
                text=chunk.text,
                score=grade.score if (grade := stored.grades.get(chunk.id)) else None,
                kept=True,
            ),
        )
        for chunk in chunks
    }


def _judged(trace: Trace, sources: set[str], settings: Settings) -> bool:
    """Whether what `settings` let decide about strips has decided in this run."""
    if settings.strip_judge == "scores" or Settings.checked(trace.settings).strip_judge == "llm":
        return True
    return not any(trace.strips.get(source) for source in sources)


def _filtered(trace: Trace, sources: set[str], settings: Settings, refine: bool) -> dict[str, tuple[Strip, ...]]:
    """The stored strips of `sources` with the filter applied anew; never-scored ones stay dropped."""
    own = [strip for source, group in trace.strips.items() if source in sources for strip in group]
    if refine:
        if settings.strip_judge == "scores":
            own = [replace(strip, selected=None) for strip in own]
        scored = [strip for strip in own if strip.score is not None or strip.kept]
        kept = filter_strips(scored, floor=settings.strip_filter, top_k=settings.strip_top_k)
        by_id = {strip.id: strip for strip in kept}
        own = [by_id.get(strip.id, replace(strip, kept=False)) for strip in own]
    return {source: tuple(s for s in own if s.source_id == source) for source in trace.strips if source in sources}
