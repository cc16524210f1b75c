"""What lets a question in: it is not empty, not too long, and while a person is asked, others have its turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from unicodedata import category

from crag.core import events as ev
from crag.core.errors import QuestionError, SettingsError
from crag.core.filters.where import scope_of
from crag.core.protocols import Retriever
from crag.core.settings import Settings
from crag.runtime.fair_queue import QueueTicket
from crag.storage.library import Library


def resolve_scope(library: Library, where: str, at: float) -> ev.ScopeResolved | None:
    """The scope that a filter begins with, its documents by their names now; None where it has none."""
    scope = scope_of(where)
    if not scope:
        return None
    names = library.documents.names() if scope.documents else {}
    found = {id: name for id, name in names.items() if id.startswith(scope.documents)}
    gone = sum(1 for prefix in scope.documents if not any(id.startswith(prefix) for id in found))
    return ev.ScopeResolved(documents=tuple(found.values()), tags=scope.tags, gone=gone, at=at)


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


def storable(text: str) -> str:
    """Text as JSON can hold it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode()


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


def release_while_asking(
    ask: Callable[[str], bool] | None, cancel: threading.Event, turn: QueueTicket
) -> Callable[[str], bool] | None:
    """Asks the person, while others have the turn: a person may take long, or be gone."""
    if ask is None:
        return None

    def allowed(query: str) -> bool:
        with turn.released(cancel):
            return ask(query)

    return allowed
