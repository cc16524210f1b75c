"""The answer that there is none."""

from __future__ import annotations

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, WebPage

__all__ = ["abstention"]


def abstention(
    best: float | None, sources: dict[str, Chunk | WebPage], settings: Settings, by: str, reason: str = ""
) -> Answer:
    """Says where was looked and why nothing is answered: `best` is the best score of all, None where there was none."""
    searched = any(isinstance(source, WebPage) for source in sources.values())
    where = "Neither your documents nor the web pages found say" if searched else "Your documents do not say"
    if best is None:
        reason = reason or "no passage was relevant enough to answer from"
    elif best < settings.answer_floor:
        reason = f"the best passage scored {best:.2f}, under the answer floor of {settings.answer_floor:.2f}"
    return Answer(text=f"{where}: {reason}.", by=by, abstained=True, low_confidence=True)
