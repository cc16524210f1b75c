"""What an answer stands on: whether it is unsure after the action that was taken, and where its documents differ."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from crag.core.settings import Settings
from crag.core.types import UNMET, Action, Answer, Chunk, Decision, Reported, Strip
from crag.generation.cells import Lookup
from crag.generation.citations import build_citation, numbers_in, usable_of


def without_floor(settings: Settings, decision: Decision | None) -> Settings:
    """The settings of an answer whose chunks another evaluator graded than its strips.

    After a CORRECT that rests on the other one, the strips' scores alone silence no answer.
    """
    if decision is None or decision.action is not Action.CORRECT:
        return settings
    return settings.model_copy(update={"min_answer_score": 0.0})


def finish(answer: Answer, decision: Decision | None, knowledge: Sequence[Strip], settings: Settings) -> Answer:
    """The answer as a run gives it: marked where it stands on weak ground.

    A written one whose confidence is not known has that of the best strip that it rests on, or of the decision.
    """
    if answer.abstained:
        return answer
    confidence = answer.confidence
    if confidence is None and not answer.quoted:
        _, best = usable_of(knowledge)
        confidence = best if best is not None else decision.score if decision else None
    return replace(answer, confidence=confidence, low_confidence=_unsure(answer, decision, knowledge, settings))


def with_differing(answer: Answer, lookup: Lookup | None, foreign: Container[str]) -> Answer:
    """The answer with what each document gives for the cell that is asked for, where they give different values.

    `foreign`: the sources of other subjects, whose cells are not the one that is asked for.
    """
    cells = [cell for cell in lookup.differing if cell.chunk.id not in foreign] if lookup else []
    if len(cells) < 2:
        return answer
    values = []
    for cell in cells:
        answer, number = cite(answer, cell.row_strip, cell.chunk)
        values.append(Reported(value=cell.value, citation=number, dated=cell.chunk.dated))
    return replace(answer, differing=tuple(values))


def cite(answer: Answer, strip: Strip, chunk: Chunk) -> tuple[Answer, int]:
    """The answer with a citation that holds the strip, and its number; one that is there already serves."""
    for each in answer.citations:
        if each.source_id == chunk.id and strip.text in each.quote:
            return answer, each.number
    # A model may have written a number that stands for no source: the new one is none of those.
    number = max([0, *numbers_in(answer.text), *(each.number for each in answer.citations)]) + 1
    made = build_citation(number, strip, chunk, 0, len(strip.text))
    return replace(answer, citations=(*answer.citations, made)), number


def lacks_support(decision: Decision | None, knowledge: Sequence[Strip]) -> bool:
    """Whether the documents were judged not to answer, and nothing from the web stands in for them."""
    incorrect = decision is not None and decision.action is Action.INCORRECT
    return incorrect and not any(strip.kept and strip.origin == "external" for strip in knowledge)


def _unsure(answer: Answer, decision: Decision | None, knowledge: Sequence[Strip], settings: Settings) -> bool:
    """Whether an answer stands on weak ground: after INCORRECT with nothing from the web, never after CORRECT.

    Otherwise a quote whose confidence is known does so below `confident_answer`. Where it is not known, or nothing was
    graded, it is what the generator says of the strips it used. An answer to a question that names what nothing found
    names, an item or a period that no row has, or a cell that tables give differently, stands on weak ground whatever
    the grades say; so does one whose words say the opposite; so does one that a cell contradicts, and a quote in which
    a language model found no answer.
    """
    if decision is None or answer.unnamed or answer.lookup in UNMET or answer.contradicts:
        return answer.low_confidence
    if lacks_support(decision, knowledge) or "no answer" in answer.remarks:
        return True
    if answer.quoted and answer.confidence is not None and settings.confident_answer:
        return answer.confidence < settings.confident_answer
    return decision.action is not Action.CORRECT and answer.low_confidence
