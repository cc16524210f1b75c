"""What failed in a run and was worked around, each once, with what was done instead and what a person can do."""

from __future__ import annotations

from crag.core.events import Failed
from crag.core.makers import about, name_in_sentence
from crag.core.trace import Trace
from crag.core.types import Grade, Step
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.messages.wording import instead_sentence, why_sentence


def of_step(trace: Trace, step: Step) -> list[Failed]:
    """What failed in a step without ending the run; a query that was not approved is no failure: the web tells it."""
    return [
        failure
        for failure in trace.failures
        if failure.step == step and not failure.fatal and failure.reason != "not approved"
    ]


def why(grade: Grade) -> str:
    """How the evaluator failed in whose place this grade was made; "" where none failed."""
    return words.ended(why_sentence(grade, name_in_sentence, name_in_sentence(grade.instead_of)))


def block(trace: Trace) -> Html:
    """Each cause once, where it struck and what was done instead, and the advice; nothing where nothing failed."""
    found = _lines(trace)
    if not found:
        return Html()
    groups: dict[str, list[tuple[Step, str]]] = {}
    for step, cause, instead in found:
        groups.setdefault(cause, []).append((step, instead))
    advice = dict.fromkeys(failure.remedy for step in words.STEPS for failure in of_step(trace, step))
    listed = [_group(cause, where) for cause, where in groups.items()]
    return h.div("faults", role="note")[
        h.p("lead")["Failed, and worked around"], listed, h.p("small")[" ".join(advice)]
    ]


def _lines(trace: Trace) -> list[tuple[Step, str, str]]:
    """Step, cause and what was done instead, of everything that failed; the grades as one."""
    graded = trace.round.made if trace.round else ()
    local = [grade for grade in graded if grade.instead_of]
    found: list[tuple[Step, str, str]] = []
    for step in words.STEPS:
        for failure in of_step(trace, step):
            stood_in = step == "evaluate" and local and failure.instead
            instead = _count(len(local), len(graded)) if stood_in else instead_sentence(failure, name_in_sentence)
            found.append((step, about(failure.cause, failure.who, name_in_sentence), instead))
    return list(dict.fromkeys(found))


def _group(cause: str, where: list[tuple[Step, str]]) -> Html:
    lines = [h.li[h.span("step")[words.STEPS[step]], h.span[instead]] for step, instead in where]
    return h.fragment(h.p[cause], h.ul[lines])


def _count(local: int, whole: int) -> str:
    """How many of the grades the local evaluator made."""
    if whole == 1:
        return "The grade is the local evaluator's."
    return f"{local} of {whole} grades {'is' if local == 1 else 'are'} the local evaluator's."
