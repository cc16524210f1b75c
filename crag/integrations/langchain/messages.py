"""A thread's messages as the engine sees them: the last question of a person, and the exchanges before it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from crag.core.types import Exchange
from crag.generation.conversation.rules import ANSWER_CHARS, EXCHANGES, QUESTION_CHARS, RuleContextualizer

LOOKED_AT = 2 * EXCHANGES
"""So many exchanges are read, so that the first of those that count may itself be a follow-up."""


def last_question(messages: Sequence[AnyMessage]) -> tuple[int, HumanMessage] | None:
    """The last message of a person, and its place; None where there is none.

    What a program wrote in a person's place, as a summary of earlier messages, is no question.
    """
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, HumanMessage) and not message.additional_kwargs.get("lc_source"):
            return place, message
    return None


def exchanges(messages: Sequence[AnyMessage]) -> list[Exchange]:
    """What was asked and answered in these messages, oldest first: the latest, each question as it stands alone."""
    asked: list[tuple[str, str]] = []
    answer = ""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and not answer:
            answer = message.text[:ANSWER_CHARS]
        elif isinstance(message, HumanMessage) and not message.additional_kwargs.get("lc_source"):
            asked.insert(0, (message.text[:QUESTION_CHARS], answer))
            answer = ""
        if len(asked) == LOOKED_AT:
            break
    found: list[Exchange] = []
    rules = RuleContextualizer()
    for question, answer in asked:
        found.append(Exchange(question=rules.standalone(question, found).question, answer=answer))
    return found[-EXCHANGES:]
