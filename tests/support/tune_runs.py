"""Stored runs for tests of the Tune page: made from scores, without a graph."""

from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Round, StepRecord, Trace
from crag.core.types import Call, Grade
from crag.evaluation.trigger import decide
from crag.testing.fakes import chunk_of


def run(number, scores, *, strategy="balanced", question="", settings=None, evaluator="local-1", calls=0, **more):
    """A run whose chunks on pages 1, 2, … of report.pdf got these scores; None is a failed grade.

    `calls`: outside calls of its evaluate step, of one million tokens in each.
    """
    settings = settings or STRATEGIES[strategy].settings
    found = rank_chunks(chunk_of(f"Text {page}.", name="report.pdf", page=page) for page, _ in enumerate(scores, 1))
    grades = {
        each.chunk.id: Grade(
            passage_id=each.chunk.id, score=score, evaluator=evaluator, error="busy" if score is None else None
        )
        for each, score in zip(found, scores, strict=True)
    }
    graded = settings.evaluator == "chunk"
    decision = None
    if graded:
        given = list(grades.values())
        decision = decide(given, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation)
    asked = question or f"Why did it happen in {number}?"
    return Trace(
        run_id=f"run-{number}",
        question=asked,
        strategy=strategy,
        settings=settings.model_dump(mode="json"),
        workspace="default",
        started_at="2026-01-01T00:00:00+00:00",
        steps=(
            StepRecord(step="retrieve", round=0, started=0.0, seconds=0.1),
            StepRecord(step="evaluate", round=0, started=0.1, seconds=0.2, calls=calls),
            StepRecord(step="act", round=0, started=0.3, seconds=0.0),
        ),
        rounds=(Round(query=asked, chunks=tuple(found), grades=grades if graded else {}, decision=decision),),
        calls=(
            Call(
                step="evaluate",
                provider="openai",
                model="gpt-4o-mini",
                seconds=0.1,
                input_tokens=1_000_000,
                output_tokens=0,
            ),
        )
        * calls,
        finished=True,
        seconds=0.4,
        **more,
    )


def once() -> Settings:
    """The default settings without a corrective loop, so that every action can be known."""
    return STRATEGIES["balanced"].settings.changed(loop_on=(), max_rewrites=0)
