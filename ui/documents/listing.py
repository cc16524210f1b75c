"""What the library holds, as the page shows it: a value for each document, remembered until something changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.core.metadata import Fields, fields_of, written_field
from crag.core.types import Document
from crag.messages.documents import stale_sentences, waiting_sentence
from crag.storage.facts import Standing
from ui.app.program import program
from ui.app.session import Session
from ui.components.remembered import remembered

_FILES_SECONDS = 5.0
"""For so long it is believed that no file changed on the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A document with its fields, all of them and those that it was given; answers to `cited` questions cite it.

    `problems`: what a person should know, each a sentence. `words`: all that a search looks at, in small letters.
    """

    document: Document
    fields: Fields
    given: Fields
    cited: int
    words: str
    problems: tuple[str, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        found = self.fields.get("tags", ())
        return found if isinstance(found, tuple) else ()

    @property
    def confidence(self) -> float:
        found = self.fields.get("confidence", 1.0)
        return float(found) if isinstance(found, int | float) else 1.0

    @property
    def verified(self) -> bool:
        return self.fields.get("verified") is True

    @property
    def kind(self) -> str:
        return self.document.kind

    @property
    def date(self) -> str:
        return str(self.fields.get("date", ""))


def holdings(session: Session) -> Sequence[Held]:
    """All documents of the library in the order in which they were added. Raises CragError."""
    library = session.library
    place, stamp = str(library.folder), library.documents.version()
    stale = _stale(place, stamp, _workspace=session.workspace)
    said = {id: (waiting_sentence(each),) for id, each in library.unembedded.standing().items()}
    for id, sentences in stale.items():
        said[id] = (*said.get(id, ()), *sentences)
    return _held(place, (stamp, library.facts.standing()), tuple(sorted(said.items())), _session=session)


Stamp = tuple[str, int, int]


@remembered(max_entries=8, ttl=_FILES_SECONDS)
def _stale(place: str, stamp: Stamp, *, _workspace: str) -> dict[str, tuple[str, ...]]:
    return stale_sentences(program().engine.stale(_workspace))


@remembered(max_entries=4)
def _held(
    place: str,
    state: tuple[Stamp, Standing],
    said: tuple[tuple[str, tuple[str, ...]], ...],
    *,
    _session: Session,
) -> tuple[Held, ...]:
    library, problems = _session.library, dict(said)
    given, documents = library.documents.given(), library.documents.all()
    citing = library.facts.citing(documents)
    return tuple(
        _one(document, given.get(document.id, {}), citing[document.id], problems.get(document.id, ()))
        for document in documents
    )


def _one(document: Document, given: Fields, cited: int, problems: tuple[str, ...]) -> Held:
    said = (document.name, document.title, *(written_field(name, value) for name, value in given.items()))
    return Held(
        document=document,
        fields=fields_of(document, given),
        given=given,
        cited=cited,
        words="\n".join(said).casefold(),
        problems=(*problems, *document.warnings),
    )
