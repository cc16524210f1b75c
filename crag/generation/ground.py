"""What an answer stands on: whether it is unsure after the action that was taken, and where its sources disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crag.core.settings import Settings
from crag.core.types import UNMET, Action, Answer, Chunk, Decision, Strip, WebPage
from crag.generation.disagreements import with_disagreements


def without_floor(settings: Settings, decision: Decision | None) -> Settings:
    """The settings of an answer whose chunks another evaluator graded than its strips.

    After a CORRECT that rests on the other one, the strips' scores alone silence no answer.
    """
    if decision is None or decision.action is not Action.CORRECT:
        return settings
    return settings.model_copy(update={"min_answer_score": 0.0})


def finish(
    answer: Answer,
    decision: Decision | None,
    knowledge: Sequence[Strip],
    sources: Mapping[str, Chunk | WebPage],
    settings: Settings,
) -> Answer:
    """The answer as a run gives it: marked where it stands on weak ground, with what its sources disagree on."""
    if answer.abstained:
        return answer
    unsure = _unsure(answer, decision, knowledge, settings)
    return with_disagreements(replace(answer, low_confidence=unsure), knowledge, sources)


def lacks_support(decision: Decision | None, knowledge: Sequence[Strip]) -> bool:
    """Whether the documents were judged not to answer, and nothing from the web stands in for them."""
    incorrect = decision is not None and decision.action is Action.INCORRECT
    return incorrect and not any(strip.kept and strip.origin == "external" for strip in knowledge)


def _unsure(answer: Answer, decision: Decision | None, knowledge: Sequence[Strip], settings: Settings) -> bool:
    """Whether an answer stands on weak ground: after INCORRECT with nothing from the web, never after CORRECT.

    Otherwise one whose confidence is known does so below `confident_answer`. Where it is not known, or nothing was
    graded, it is what the generator says of the strips it used. An answer to a question that names what nothing found
    names, an item or a period that no row has, or a cell that tables give differently, stands on weak ground whatever
    the grades say; so does one whose words say the opposite; so does one that a cell contradicts.
    """
    if decision is None or answer.unnamed or answer.lookup in UNMET or answer.contradicts:
        return answer.low_confidence
    if lacks_support(decision, knowledge):
        return True
    if answer.confidence is not None and settings.confident_answer:
        return answer.confidence < settings.confident_answer
    return decision.action is not Action.CORRECT and answer.low_confidence
