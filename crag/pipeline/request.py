"""What is checked of a request before its run: its question, its filter, and the name of the program that asks."""

from __future__ import annotations

from unicodedata import category

from crag.core.errors import QuestionError, SettingsError
from crag.core.protocols import Retriever
from crag.core.settings import Settings

QUESTION_CHARS = 2_000
CLIENT_CHARS = 60
"""How much of the name that a program gives itself is kept."""


def check_question(question: str) -> str:
    """The question without white space around it. Raises QuestionError for an empty or too long one."""
    asked = question.strip()
    if not asked:
        raise QuestionError("The question is empty.")
    if len(asked) > QUESTION_CHARS:
        raise QuestionError(f"The question has {len(asked):,} characters; {QUESTION_CHARS:,} is the limit.")
    return asked


def refuse_filter(retriever: Retriever | None, settings: Settings) -> None:
    """Raises SettingsError for a filter that somebody's own retriever would not obey: it must not seem to be obeyed."""
    if retriever is not None and settings.where:
        raise SettingsError(
            "The setting where filters the library, and another store is searched.", "Filter in that store's own terms."
        )


def named_client(name: str) -> str:
    """What a program calls itself, in one short line in which nothing is unseen or turns the direction of writing."""
    seen = "".join(letter for letter in " ".join(name.split()) if not category(letter).startswith("C"))
    return seen[:CLIENT_CHARS].strip()
