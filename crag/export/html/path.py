"""A run's path and its action, drawn from a trace."""

from __future__ import annotations

from crag.core.makers import name_in_sentence
from crag.core.trace import StepRecord, Trace
from crag.core.types import Action, Step
from crag.export.html import elements as h
from crag.export.html import fallbacks, words
from crag.export.html.elements import Html
from crag.messages.wording import decision_sentence, failure_sentence, outcome_sentence

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
        return "failed" if fallbacks.of_step(trace, "search") else "refused"
    return "fault" if fallbacks.of_step(trace, step) else "done"


def _passed(steps: tuple[StepRecord, ...], step: Step) -> bool:
    """Whether the run, since its last retrieval, went beyond the place of `step`."""
    last = max((place for place, record in enumerate(steps) if record.step == "retrieve"), default=0)
    return any(_ORDER.index(record.step) > _ORDER.index(step) for record in steps[last:])


def action(trace: Trace) -> Html:
    """The action as a large plain sentence, or what is happening until there is one; beneath it what went wrong."""
    return h.div("cx")[_action(trace), fallbacks.block(trace), trace.newer and h.p("small")[_NEWER]]


def _action(trace: Trace) -> Html:
    if trace.failure:
        return _card("", "!", _failure(trace))
    if trace.action is None:
        return _card("", "…" if not trace.finished else "–", h.span("says")[_meanwhile(trace)])
    word, forced = trace.action, trace.decision is not None and trace.decision.instead_of is not None
    sentence = outcome_sentence(trace, named=False)
    lead = (" ", h.span("tag")["forced"], " ") if forced else ": "
    says = h.span("says")[h.span("word")[word], lead, sentence]
    notes = [h.p("earlier")[line] for line in _notes(trace)]
    return _card(word.lower(), words.ICONS[word], h.div[says, notes])


def _card(kind: str, icon: str, inner: Html) -> Html:
    return h.div(f"action {kind}", role="status")[h.span("icon", aria_hidden="true")[icon], inner]


def _failure(trace: Trace) -> Html:
    failure = trace.failure
    assert failure is not None
    said = h.span("says")[h.b[failure_sentence(failure, name_in_sentence)]]
    return h.div[said, h.p("earlier")[failure.remedy]]


def _meanwhile(trace: Trace) -> str:
    if trace.cancelled:
        return "Stopped before an action was taken."
    here = trace.round
    if trace.before and not trace.finished:
        return f"Waiting in the queue: {words.count(trace.before, 'question')} ahead…"
    if here is None:
        return "Searching your documents…" if not trace.finished else "Nothing was retrieved."
    if trace.settings.get("evaluator") == "none":
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
            lines.append(f"Try {number + 1}: {decision_sentence(round.decision)} Searched again for “{retry}”.")
    if trace.cancelled:
        lines.append("Stopped by you.")
    return lines


def chip(action: Action | None) -> Html:
    """An action in a line of text: icon, word and colour."""
    if action is None:
        return h.span("verdict none")["no action"]
    return h.span(f"verdict {action.lower()}")[f"{words.ICONS[action]} {action}"]
