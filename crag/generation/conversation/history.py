"""What was asked and answered before a question: the exchanges that it may follow on, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from crag.core.errors import CragError
from crag.core.trace import Trace
from crag.core.types import Exchange
from crag.generation.conversation.brackets import BracketContextualizer

EXCHANGES = 4
"""How many of the latest exchanges are looked at, however long the conversation is."""
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


def exchanges_of(latest: Iterable[tuple[bool, str]]) -> list[Exchange]:
    """The latest exchanges of a chat, oldest first, each question in its standalone form.

    `latest`: the messages, latest first, each with whether it is a question. Of what answers a question, the last text
    counts. Twice as many are read as are returned: the first that is returned may itself be a follow-up.
    """
    asked: list[tuple[str, str]] = []
    answer = ""
    for is_question, text in latest:
        if not is_question:
            answer = answer or text
            continue
        asked.append((text[:QUESTION_CHARS].strip(), answer))
        answer = ""
        if len(asked) == 2 * EXCHANGES:
            break
    known: list[Exchange] = []
    for question, answer in reversed(asked):
        known.append(Exchange(question=BracketContextualizer().standalone(question, known).question, answer=answer))
    return known[-EXCHANGES:]
