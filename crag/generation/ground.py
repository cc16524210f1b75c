"""What an answer stands on: what is to be checked of it, why there is none, and where its documents differ."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import replace

from crag.core.settings import Settings
from crag.core.types import UNMET, Action, Answer, Chunk, Decision, Doubt, Grade, Reported, Strip
from crag.generation.cells import Lookup
from crag.generation.citations import build_citation, numbers_in, usable_of
from crag.text.formats import count


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
    settings: Settings,
    grades: Collection[Grade] = (),
) -> Answer:
    """The answer as a run gives it, with what is to be checked of it, and so with its state.

    A written one whose confidence is not known has that of the best strip that it rests on, or of the decision. An
    abstaining one says so where the passages, which have these `grades`, could not be judged well.
    """
    if answer.abstained:
        unknown = _unknown_text(grades) if "weak" in answer.doubts else ""
        return replace(answer, text=unknown or answer.text)
    confidence = answer.confidence
    if confidence is None and not answer.quoted:
        _, best = usable_of(knowledge)
        confidence = best if best is not None else decision.score if decision else None
    answer = replace(answer, confidence=confidence)
    return replace(answer, doubts=tuple(_doubts(answer, decision, knowledge, settings)))


def _unknown_text(grades: Collection[Grade]) -> str:
    """Why nobody can tell whether the documents say it; empty where the grades tell."""
    failed = sum(grade.failed for grade in grades)
    if failed:
        return f"{failed} of {count(len(grades), 'passage')} could not be judged, so the answer may stand in them."
    unsure = "The relevance check is sure in English alone, so the answer may stand in your documents all the same."
    return unsure if grades and not any(grade.english for grade in grades) else ""


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


def _doubts(
    answer: Answer, decision: Decision | None, knowledge: Sequence[Strip], settings: Settings
) -> Iterator[Doubt]:
    """What is to be checked of an answer, what weighs most first.

    How sure a quote is, or else what it rests on, counts where nothing else does, and the scores of strips never after
    CORRECT. A model that was shown several rows of one document may choose among them.
    """
    known: dict[Doubt, bool] = {
        "no answer": "no answer" in answer.remarks,
        "unnamed": bool(answer.unnamed),
        "not relevant": lacks_support(decision, knowledge),
        "contradicts": answer.contradicts is not None,
    }
    yield from (doubt for doubt, holds in known.items() if holds)
    unmet = answer.lookup in UNMET and (answer.quoted or answer.lookup != "several" or bool(answer.differing))
    if answer.lookup in UNMET and unmet:
        yield answer.lookup
    if unmet or any(known.values()):
        return
    if decision and answer.quoted and answer.confidence is not None and settings.confident_answer:
        if answer.confidence < settings.confident_answer:
            yield "unsure"
    elif "weak" in answer.doubts and (decision is None or decision.action is not Action.CORRECT):
        yield "weak" if any(strip.score is not None for strip in knowledge) else "not graded"
