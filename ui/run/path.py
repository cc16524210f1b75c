"""A run's path and its action, drawn from a trace."""

from __future__ import annotations

from crag.core.makers import named
from crag.core.trace import StepRecord, Trace
from crag.core.types import Action, Step
from crag.core.wording import decision_sentence, failure_sentence, outcome_sentence
from ui.kit import words
from ui.kit.safe import text
from ui.run import faults

__all__ = ["action", "chip", "path"]

_ORDER: list[Step] = list(words.STEPS)

_NOTES = {
    "active": "now",
    "asking": "waits for you",
    "skipped": "skipped",
    "failed": "failed",
    "refused": "not approved",
    "stopped": "stopped",
    "waiting": "",
}
"""What stands under a step that did not simply end."""
_CLASSES = {"asking": "active asking", "fault": "done fault", "refused": "skipped refused"}
"""States that look like another one, with a difference."""

_NEWER = "A newer version of this program stored this run. What only that version knows is left out."


def path(trace: Trace) -> str:
    """The eight steps: done ones with their time, the active one lit, skipped ones dimmed, faults marked in words."""
    items = []
    for step in _ORDER:
        state = _state(trace, step)
        note = _NOTES[state] if state in _NOTES else _took(trace, step)
        mark = '<span class="t">worked around</span>' if state == "fault" else ""
        current = ' aria-current="step"' if state in ("active", "asking") else ""
        items.append(
            f'<li class="{_CLASSES.get(state, state)}"{current}>{words.STEPS[step]}'
            f'<span class="t">{note or "&nbsp;"}</span>{mark}</li>'
        )
    return f'<div class="cx"><ol class="path" aria-label="Path of the run">{"".join(items)}</ol></div>'


def _took(trace: Trace, step: Step) -> str:
    visits = [record for record in trace.steps if record.step == step]
    took = sum(record.seconds or 0.0 for record in visits)
    return words.duration(took) + (f" ×{len(visits)}" if len(visits) > 1 else "")


def _state(trace: Trace, step: Step) -> str:
    visits = [record for record in trace.steps if record.step == step]
    if trace.failure and trace.failure.step == step:
        return "failed"
    if any(record.seconds is None for record in visits):
        if step == "search" and trace.awaiting:
            return "asking"
        return "stopped" if trace.finished else "active"
    if not visits:
        return "skipped" if trace.finished or _passed(trace.steps, step) else "waiting"
    if step == "search" and not trace.searches:
        return "failed" if faults.of_step(trace, "search") else "refused"
    return "fault" if faults.of_step(trace, step) else "done"


def _passed(steps: tuple[StepRecord, ...], step: Step) -> bool:
    """Whether the run, since its last retrieval, went beyond the place of `step`."""
    last = max((place for place, record in enumerate(steps) if record.step == "retrieve"), default=0)
    return any(_ORDER.index(record.step) > _ORDER.index(step) for record in steps[last:])


def action(trace: Trace) -> str:
    """The action as a large plain sentence, or what is happening until there is one; beneath it what went wrong."""
    newer = f'<p class="small">{_NEWER}</p>' if trace.newer else ""
    return f'<div class="cx">{_action(trace)}{faults.block(trace)}{newer}</div>'


def _action(trace: Trace) -> str:
    if trace.failure:
        return _card("", "!", _failure(trace))
    if trace.action is None:
        return _card("", "…" if not trace.finished else "–", f'<span class="says">{text(_meanwhile(trace))}</span>')
    word, forced = trace.action, trace.decision is not None and trace.decision.instead_of is not None
    sentence = outcome_sentence(trace, named=False)
    lead = ' <span class="tag">forced</span> ' if forced else ": "
    says = f'<span class="says"><span class="word">{word}</span>{lead}{text(sentence)}</span>'
    notes = "".join(f'<p class="earlier">{text(line)}</p>' for line in _notes(trace))
    return _card(word.lower(), words.ICONS[word], f"<div>{says}{notes}</div>")


def _card(kind: str, icon: str, inner: str) -> str:
    return f'<div class="action {kind}" role="status"><span class="icon" aria-hidden="true">{icon}</span>{inner}</div>'


def _failure(trace: Trace) -> str:
    failure = trace.failure
    assert failure is not None
    said = f'<span class="says"><b>{text(failure_sentence(failure, named))}</b></span>'
    return f'<div>{said}<p class="earlier">{text(failure.remedy)}</p></div>'


def _meanwhile(trace: Trace) -> str:
    if trace.cancelled:
        return "Stopped before an action was taken."
    here = trace.round
    if trace.before and not trace.finished:
        return f"Waits for its turn: {words.count(trace.before, 'question')} before this one…"
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


def chip(action: Action | None) -> str:
    """An action in a line of text: icon, word and colour."""
    if action is None:
        return '<span class="verdict none">no action</span>'
    return f'<span class="verdict {action.lower()}">{words.ICONS[action]} {action}</span>'
