"""The path of a run: each step and its state, the action and what it means, and what failed and was worked around."""

from __future__ import annotations

from crag.core.events import Failed
from crag.core.model_ids import about, name_in_sentence
from crag.core.trace import StepRecord, Trace
from crag.core.types import Action, Grade, Step
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.messages.wording import (
    VERDICTS,
    decision_sentence,
    failure_sentence,
    instead_sentence,
    outcome_sentence,
    searched_text,
    why_sentence,
)

_ORDER: list[Step] = list(words.STEPS)

_NOTES = {
    "active": "now",
    "asking": "waits for you",
    "skipped": "skipped",
    "failed": "failed",
    "refused": "not approved",
    "handed": "handed over",
    "stopped": "stopped",
    "fault": "with failures",
    "waiting": "",
}
"""What stands under a step that did not simply end, short enough for one line; its time is then shown on hovering."""
_CLASSES = {"asking": "active asking", "fault": "done fault", "refused": "skipped refused", "handed": "skipped"}
"""States that look like another one, with a difference."""

_NEWER = "A newer version stored this run. Details that only that version knows are left out."


def path(trace: Trace) -> Html:
    """The steps: done ones with their time, the active one lit, skipped ones dimmed, faults marked in words."""
    items = []
    for step in _ORDER:
        state = _state(trace, step)
        if step == "contextualize" and state in ("skipped", "waiting"):
            continue  # of a question that follows on none
        if step == "verify" and trace.wanted == "evidence":
            continue  # the answer is another's
        took = _took(trace, step)
        note = _NOTES.get(state, took)
        item = h.li(
            _CLASSES.get(state, state),
            aria_current=state in ("active", "asking") and "step",
            title=state == "fault" and f"worked around, {took}",
        )
        items.append(item[words.STEPS[step], h.span("t")[note or h.nbsp]])
    return h.div("cx")[h.ol("path", aria_label="Path of the run")[items]]


def _took(trace: Trace, step: Step) -> str:
    visits = [record for record in trace.steps if record.step == step]
    took = sum(record.seconds or 0.0 for record in visits)
    return words.format_duration(took) + (f" ×{len(visits)}" if len(visits) > 1 else "")


def _state(trace: Trace, step: Step) -> str:
    visits = [record for record in trace.steps if record.step == step]
    if trace.failure and trace.failure.step == step:
        return "failed"
    if any(record.seconds is None for record in visits):
        if step == "search" and trace.awaiting:
            return "asking"
        return "stopped" if trace.finished else "active"
    if step == "answer" and trace.handed_over:
        return "handed"
    if not visits:
        return "skipped" if trace.finished or _passed(trace.steps, step) else "waiting"
    if step == "search" and not trace.searches:
        return "failed" if step_failures(trace, "search") else "refused"
    return "fault" if step_failures(trace, step) else "done"


def _passed(steps: tuple[StepRecord, ...], step: Step) -> bool:
    """Whether the run, since its last retrieval, went beyond the place of `step`."""
    last = max((place for place, record in enumerate(steps) if record.step == "retrieve"), default=0)
    return any(_ORDER.index(record.step) > _ORDER.index(step) for record in steps[last:])


def action(trace: Trace) -> Html:
    """The action as a large plain sentence, or what is happening until there is one; beneath it what went wrong."""
    return h.div("cx")[_action(trace), fallback_block(trace), trace.newer and h.p("small")[_NEWER]]


def _action(trace: Trace) -> Html:
    if trace.failure:
        return _card("", "!", _failure(trace))
    if trace.action is None:
        return _card("", "…" if not trace.finished else "–", h.span("says")[_meanwhile(trace)])
    verdict, forced = trace.action, trace.decision is not None and trace.decision.instead_of is not None
    judged = trace.decision is None or trace.decision.score is not None or not trace.decision.unknown
    searched, sentence = words.sentence(searched_text(trace))[:-1], words.sentence(outcome_sentence(trace, named=False))
    said = f"{searched}: {VERDICTS[verdict] if judged else 'not judged'}"
    word = h.span("word", title=f"{verdict} in the words of the paper")[said]
    says = h.span("says")[word, ". ", forced and (h.span("tag")["forced"], " "), sentence]
    notes = [h.p("small")[line] for line in _notes(trace)]
    return _card(verdict.lower(), words.ICONS[verdict], h.div[says, notes])


def _card(kind: str, icon: str, inner: Html) -> Html:
    return h.div(f"action {kind}", role="status")[h.span("icon", aria_hidden="true")[icon], inner]


def _failure(trace: Trace) -> Html:
    failure = trace.failure
    assert failure is not None
    said = h.span("says")[h.b[failure_sentence(failure)]]
    return h.div[said, h.p("small")[failure.remedy]]


def _meanwhile(trace: Trace) -> str:
    if trace.cancelled:
        return "Stopped before an action was taken."
    here = trace.round
    if trace.before and not trace.finished:
        return f"Waiting in the queue: {words.count(trace.before, 'question')} ahead…"
    if here is None:
        return "Searching your documents…" if not trace.finished else "Nothing was retrieved."
    if trace.settings.get("evaluator") == "none" or trace.of_whole:
        return outcome_sentence(trace) or "Plain RAG: no chunk is graded, all are used."
    if trace.finished:
        return "The run ended before an action was taken."
    if trace.settings.get("evaluator") == "joint":
        return f"Grading {words.count(len(here.chunks), 'chunk')} together…"
    return f"Grading: {len(here.grades)} of {words.count(len(here.chunks), 'chunk')} so far…"


def _notes(trace: Trace) -> list[str]:
    """What happened on the way: earlier rounds, a stop."""
    lines = []
    for number, round in enumerate(trace.rounds[:-1]):
        if round.decision:
            retry = trace.rounds[number + 1].query
            said = f"{VERDICTS[round.decision.action]}; {decision_sentence(round.decision, named=False)}"
            lines.append(f"Try {number + 1}: {said} Searched again for “{retry}”.")
    if trace.cancelled:
        lines.append("Stopped by you.")
    return lines


def chip(action: Action | None) -> Html:
    """An action in a line of text: icon, word and colour."""
    if action is None:
        return h.span("verdict none")["no action"]
    return h.span(f"verdict {action.lower()}")[f"{words.ICONS[action]} {action}"]


def step_failures(trace: Trace, step: Step) -> list[Failed]:
    """What failed in a step without ending the run; a query that was not approved is no failure: the web tells it."""
    return [
        failure
        for failure in trace.failures
        if failure.step == step and not failure.fatal and failure.reason != "not approved"
    ]


def fallback_reason(grade: Grade) -> str:
    """How the evaluator failed in whose place this grade was made; "" where none failed."""
    return words.ended(why_sentence(grade, name_in_sentence(grade.instead_of)))


def fallback_block(trace: Trace) -> Html:
    """Each cause once, where it struck and what was done instead, and the advice; nothing where nothing failed."""
    failures = [(step, failure) for step in words.STEPS for failure in step_failures(trace, step)]
    if not failures:
        return Html()
    graded = trace.round.made if trace.round else ()
    local = [grade for grade in graded if grade.instead_of]
    causes: dict[str, dict[Html, None]] = {}
    for step, failure in failures:
        stood_in = step == "evaluate" and local and failure.instead
        instead = _count(len(local), len(graded)) if stood_in else instead_sentence(failure)
        line = h.li[h.span("quiet")[f"{words.STEPS[step]}:"], " ", instead]
        causes.setdefault(about(failure.cause, failure.who), {})[line] = None
    listed = [(h.p[cause], h.ul[lines]) for cause, lines in causes.items()]
    advice = " ".join(dict.fromkeys(failure.remedy for _, failure in failures))
    return h.div("faults", role="note")[h.p[h.b["Failed, and worked around"]], listed, h.p("small")[advice]]


def _count(local: int, whole: int) -> str:
    """How many of the grades the local evaluator made."""
    if whole == 1:
        return "The grade is the local evaluator's."
    return f"{local} of {whole} grades {'is' if local == 1 else 'are'} the local evaluator's."
