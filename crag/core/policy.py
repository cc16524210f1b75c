"""What follows from an action: pure routing that the live run, what-if and tests share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crag.core.settings import Settings
from crag.core.types import Action, Decision, Grade


def acted_on(decision: Decision, settings: Settings) -> Decision:
    """What is acted on after the last retrieval: the decision, or the forced action with what the scores say.

    An INCORRECT by a score that is below the lower threshold by no more than the margin of doubt is AMBIGUOUS: scores
    are not so exact that all documents should be dropped for so little, while another search costs little.
    Whether the library is searched again is the scores' matter alone, forced or not: a forced run retrieves exactly
    what it would without, and only what follows its last retrieval differs. So no forced action keeps a loop going.
    """
    if _doubtful(decision, settings):
        decision = replace(decision, action=Action.AMBIGUOUS, doubt=settings.ambiguity_margin)
    if not settings.forced:
        return decision
    return replace(decision, action=Action(settings.forced), instead_of=decision.action)


def _doubtful(decision: Decision, settings: Settings) -> bool:
    near = decision.score is not None and decision.score >= decision.lower - settings.ambiguity_margin
    return decision.action is Action.INCORRECT and settings.ambiguity_margin > 0 and near


def loops(action: Action, *, round: int, settings: Settings) -> bool:
    """Whether the library is searched again with a rewritten query. `round` counts retrievals from 0."""
    return action in settings.loop_on and round < settings.max_rewrites


def chunks_acted_on(
    graded: Sequence[Sequence[tuple[str, Grade | None]]], joint: Sequence[Grade | None], settings: Settings
) -> list[tuple[int, int]]:
    """Which chunks are acted on after several retrievals, as (round, place in it) in the order of retrieval.

    `graded` has a round's chunks by id with their grades, `joint` its grade over all of them. The last round's; or
    those of the round with the best score, the earlier one on a tie; or the `k` best of all rounds, each once, where
    a failed grade counts as the best: nobody knows that the chunk is worse. What is graded jointly can't be ranked
    chunk by chunk: there the union is the better round.
    """
    rounds, last = range(len(graded)), len(graded) - 1
    if settings.loop_merge == "last" or last < 1:
        return [(last, place) for place in range(len(graded[last]))] if graded else []
    if settings.loop_merge == "better" or settings.evaluator == "joint":
        scores = [
            max(
                (grade.score for grade in (own, *(grade for _, grade in chunks)) if grade and grade.score is not None),
                default=-1.0,
            )
            for own, chunks in zip(joint, graded, strict=True)
        ]
        best = max(rounds, key=lambda number: (scores[number], -number))
        return [(best, place) for place in range(len(graded[best]))]
    once: dict[str, tuple[float, int, int]] = {}
    for number in rounds:
        for place, (id, grade) in enumerate(graded[number]):
            score = 1.0 if grade is None or grade.score is None else grade.score
            once.setdefault(id, (-score, number, place))
    return sorted((number, place) for _, number, place in sorted(once.values())[: settings.k])


def uses_documents(action: Action | None, settings: Settings) -> bool:
    """Whether text from the library may be answered from. No action at all (plain RAG) uses it."""
    return action is None or action in settings.internal_on


def refines(action: Action | None, settings: Settings) -> bool:
    """Whether chunks are cut into strips and filtered, or used as they are."""
    return action is not None and action in settings.refine_on


def searches_web(action: Action | None, settings: Settings) -> bool:
    """Whether the strategy wants the web; whether there is a provider is another matter."""
    return action is not None and action in settings.web_on


def to_web(settings: Settings, query: str) -> Settings:
    """The same settings for a run that turns to the web alone, whatever the scores say, and asks it exactly `query`."""
    return settings.changed(
        evaluator="chunk" if settings.evaluator == "none" else settings.evaluator,
        forced=Action.INCORRECT.value,
        internal_on=tuple(action for action in settings.internal_on if action is not Action.INCORRECT),
        web_on=tuple(dict.fromkeys((*settings.web_on, Action.INCORRECT))),
        web_query=query,
    )


def keeps_chunk(grade: Grade | None, settings: Settings) -> bool:
    """Whether a chunk itself may be answered from. Where only relevant ones may, an unknown one is not vouched for."""
    if settings.keep == "all":
        return True
    return grade is not None and grade.score is not None and grade.score >= settings.upper
