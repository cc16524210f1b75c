"""What failed in a run and was worked around, each once, with what was done instead and what a person can do."""

from __future__ import annotations

from crag.core.trace import Failure, Trace
from crag.core.types import Grade, Step
from ui import words
from ui.safe import text

__all__ = ["block", "of_step", "why"]

_NOT_SENT = "The query was not approved"
"""So begins the record of a person's no, which is no fault: the web sources tell it."""


def of_step(trace: Trace, step: Step) -> list[Failure]:
    """What failed in a step without ending the run; a query that was not approved is no failure."""
    return [
        failure
        for failure in trace.failures
        if failure.step == step and not failure.fatal and not failure.message.startswith(_NOT_SENT)
    ]


def why(grade: Grade) -> str:
    """How the evaluator failed in whose place this grade was made, as the engine says it; "" where none failed."""
    return grade.instead_of.partition(": ")[2]


def block(trace: Trace) -> str:
    """Where and how, a line each, and the advice once; nothing where nothing failed."""
    instead = _instead(trace)
    causes = {why(grade) for grade in instead}
    lines: list[tuple[Step, str]] = [("evaluate", _count(trace, instead))] if instead else []
    advice: list[str] = []
    for step in words.STEPS:
        for failure in of_step(trace, step):
            advice.append(failure.remedy)
            if not (step == "evaluate" and any(failure.message.startswith(cause) for cause in causes)):
                lines.append((step, words.plain(failure.message)))
    if not lines:
        return ""
    listed = "".join(
        f'<li><span class="step">{words.STEPS[step]}</span><span>{text(said)}</span></li>'
        for step, said in dict.fromkeys(lines)
    )
    return (
        f'<div class="faults" role="note"><p class="lead">Failed, and worked around</p><ul>{listed}</ul>'
        f'<p class="small">{text(" ".join(dict.fromkeys(advice)))}</p></div>'
    )


def _instead(trace: Trace) -> list[Grade]:
    """The grades, of the retrieval that is acted on, that were made in another evaluator's place."""
    return [grade for grade in _graded(trace) if grade.instead_of]


def _graded(trace: Trace) -> list[Grade]:
    here = trace.round
    if here is None:
        return []
    return [*here.grades.values(), *([here.joint] if here.joint else [])]


def _count(trace: Trace, instead: list[Grade]) -> str:
    """How many grades the local evaluator made, and the first reason why."""
    cause = words.ended(words.plain(why(instead[0])))
    whole = len(_graded(trace))
    if whole == 1:
        return f"The grade is the local evaluator's: {cause}"
    verb = "is" if len(instead) == 1 else "are"
    return f"{len(instead)} of {whole} grades {verb} the local evaluator's: {cause}"
