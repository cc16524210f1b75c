"""What a run does at a moment, in a sentence: for programs that wait for it, and for a replay."""

from __future__ import annotations

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Step
from crag.messages.wording import decision_sentence, failure_sentence, reading_sentence
from crag.text.formats import count

OVER = "The run is over."
_STEPS: dict[Step, str] = {
    "contextualize": "Puts the question in its context.",
    "retrieve": "Searches the documents.",
    "evaluate": "Grades what was found.",
    "act": "Decides.",
    "refine": "Keeps the sentences that matter.",
    "rewrite": "Words the query again.",
    "search": "Searches the web.",
    "answer": "Writes the answer.",
    "verify": "Checks the answer against its sources.",
}


def progress_sentence(event: ev.Event, trace: Trace) -> str:
    """What an event tells of a run, which has come as far as `trace`; empty where it tells nothing new."""
    match event:
        case ev.Queued(before=before) if before:
            return f"Waits for its turn; {before} run before it."
        case ev.StepStarted():
            return _STEPS[event.step]
        case ev.Graded(origin="internal", joint=False) if trace.round:
            return f"Graded {len(trace.rounds[-1].grades)} of {len(trace.rounds[-1].chunks)} passages."
        case ev.ActionTaken():
            return decision_sentence(event.decision)
        case ev.PortionRead():
            return reading_sentence(event)
        case ev.ApprovalAsked():
            return "Asks whether the query may leave."
        case ev.ApprovalGiven():
            return f"The query was {'approved' if event.approved else 'not approved'}."
        case ev.Searched():
            return f"Found {count(len(event.pages), 'web page')}."
        case ev.Failed(fatal=False):
            return failure_sentence(event)
        case ev.RunFinished():
            return OVER
        case _:
            return ""
