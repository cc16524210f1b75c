"""The conversation before a question: the latest exchanges, within a budget, and those of a run's own past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crag.core.errors import CragError
from crag.core.exchanges import Exchange
from crag.core.trace import Trace

EXCHANGES = 4
"""So many of the latest exchanges are looked at, however long the conversation is."""
QUESTION_CHARS = 500
ANSWER_CHARS = 300


def recent(history: Sequence[Exchange]) -> list[Exchange]:
    """The latest exchanges, oldest first, each cut to its budget."""
    return [
        replace(each, question=each.question[:QUESTION_CHARS], answer=each.answer[:ANSWER_CHARS])
        for each in history[-EXCHANGES:]
        if each.question.strip()
    ]


def leading_to(run_id: str, trace_of: Callable[[str], Trace]) -> list[Exchange]:
    """The exchange of a run and those it followed on, oldest first, as far as they can still be read.

    Runs that failed or were stopped are left out. Raises what `trace_of` raises for the run itself.
    """
    found: list[Exchange] = []
    trace, seen = trace_of(run_id), {run_id}
    while len(found) < EXCHANGES:
        if (said := trace.exchange) is not None:
            found.insert(0, said)
        after = trace.context.after if trace.context else ""
        if not after or after in seen:
            break
        seen.add(after)
        try:
            trace = trace_of(after)
        except CragError:  # deleted since, or unreadable: the conversation begins here
            break
    return found
