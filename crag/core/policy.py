"""What follows from an action: pure routing that the live run, what-if and tests share."""

from __future__ import annotations

from crag.core.settings import Settings
from crag.core.types import Action, Grade

__all__ = ["keeps_chunk", "loops", "refines", "searches_web", "uses_documents"]


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
