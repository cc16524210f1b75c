"""Whether there is anything to answer from, and the answer that there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Strip, WebPage
from crag.messages.wording import format_score


def usable_of(knowledge: Sequence[Strip]) -> tuple[list[Strip], float | None]:
    """The strips that hold a word, and the best score among them; None where none was scored."""
    usable = [strip for strip in knowledge if any(character.isalnum() for character in strip.text)]
    return usable, max((strip.score for strip in usable if strip.score is not None), default=None)


def abstention(
    best: float | None,
    sources: dict[str, Chunk | WebPage],
    settings: Settings,
    by: str,
    reason: str = "",
    unnamed: tuple[str, ...] = (),
) -> Answer:
    """Says where was looked and why nothing is answered: `best` is the best score of all, None where there was none.

    `unnamed`: what the question names and nothing found does, which is then the reason.
    """
    searched = any(isinstance(source, WebPage) for source in sources.values())
    where = "Neither your documents nor the web pages found say" if searched else "Your documents do not say"
    if unnamed:
        reason = f"nothing found names {' or '.join(unnamed)}"
    elif best is None:
        reason = reason or "no passage was relevant enough to answer from"
    elif best < settings.min_answer_score:
        scored = format_score(best, settings.min_answer_score)
        reason = f"the best passage scored {scored}, under the minimum answer score of {settings.min_answer_score:.2f}"
    text = f"{where}: {reason}."
    return Answer(text=text, by=by, abstained=True, low_confidence=True, unnamed=unnamed)


def pieces_of(whole: Answer) -> Iterator[str | Answer]:
    """A whole answer word by word, then itself: as a model would have written it."""
    yield from re.findall(r"(?:\A\s*+)?\S++\s*+", whole.text)
    yield whole
