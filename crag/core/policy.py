"""What follows from an action: pure routing that the live run, what-if and tests share."""

from __future__ import annotations

from dataclasses import replace

from crag.core.settings import Settings
from crag.core.types import Action, Decision, Grade

__all__ = ["acted_on", "keeps_chunk", "loops", "refines", "searches_web", "uses_documents"]


def acted_on(decision: Decision, settings: Settings) -> Decision:
    """What is acted on after the last retrieval: the decision, or the forced action with what the scores say.

    Whether the library is searched again is the scores' matter alone, forced or not: a forced run retrieves exactly
    what it would without, and only what follows its last retrieval differs. So no forced action keeps a loop going.
    """
    if not settings.forced:
        return decision
    return replace(decision, action=Action(settings.forced), instead_of=decision.action)


def loops(action: Action, *, round: int, settings: Settings) -> bool:
    """Whether the library is searched again with a rewritten query. `round` counts retrievals from 0."""
    return action in settings.loop_on and round < settings.max_rewrites


def uses_documents(action: Action | None, settings: Settings) -> bool:
    """Whether text from the library may be answered from. No action at all (plain RAG) uses it."""
    return action is None or action in settings.internal_on


def refines(action: Action | None, settings: Settings) -> bool:
    """Whether chunks are cut into strips and filtered, or used as they are."""
    return action is not None and action in settings.refine_on


def searches_web(action: Action | None, settings: Settings) -> bool:
    """Whether the strategy wants the web; whether there is a provider is another matter."""
    return action is not None and action in settings.web_on


def keeps_chunk(grade: Grade | None, settings: Settings) -> bool:
    """Whether a chunk itself may be answered from. Where only relevant ones may, an unknown one is not vouched for."""
    if settings.keep == "all":
        return True
    return grade is not None and grade.score is not None and grade.score >= settings.upper
