"""Conversations: titled, listed and deleted; a run points to one that is there, and the last run takes it along."""

from collections.abc import Callable

import pytest

from crag.core.errors import NotFoundError
from crag.core.events import RunStarted
from crag.core.trace import Trace
from crag.storage.library import Library
from tests.support.library_makers import of_the_version_before

OpenLibrary = Callable[..., Library]


def save(library: Library, run: str, conversation: str = "") -> None:
    started = RunStarted(
        run_id=run,
        question="why?",
        strategy="balanced",
        settings={},
        workspace="default",
        started_at="2026-01-01T00:00:00+00:00",
        conversation=conversation,
    )
    library.runs.save(Trace.from_events([started]), [started])


def pointers(library: Library) -> dict[str, str]:
    return {each.run_id: each.conversation for each in library.runs.latest()}


def test_a_conversation_is_created_renamed_listed_and_deleted(library: Library) -> None:
    first, second = library.conversations.create("Lighthouses"), library.conversations.create("Ferries")
    library.conversations.rename(first.id, "Lighthouses and lamps")
    assert [(each.id, each.title) for each in library.conversations.all()] == [
        (second.id, "Ferries"),
        (first.id, "Lighthouses and lamps"),
    ]
    assert first.workspace == "library" and first.created_at
    library.conversations.delete(second.id)
    assert [each.id for each in library.conversations.all()] == [first.id]
    for use in (lambda: library.conversations.rename(second.id, "x"), lambda: library.conversations.delete(second.id)):
        with pytest.raises(NotFoundError, match="no conversation"):
            use()


def test_runs_point_to_a_conversation_until_it_is_deleted(library: Library) -> None:
    one, other = library.conversations.create("one"), library.conversations.create("other")
    save(library, "a", one.id)
    save(library, "b", other.id)
    save(library, "c", one.id)
    save(library, "d", "of no conversation here")
    assert pointers(library) == {"a": one.id, "b": other.id, "c": one.id, "d": ""}
    assert library.conversations.runs(one.id) == ["a", "c"]
    library.conversations.delete(one.id)
    assert pointers(library) == {"a": "", "b": other.id, "c": "", "d": ""}
    save(library, "a", one.id)
    assert pointers(library)["a"] == "", "a run that ends after its conversation was deleted belongs to none"


def test_a_conversation_goes_with_its_last_run(library: Library) -> None:
    one, unused = library.conversations.create("one"), library.conversations.create("unused")
    for run in ("a", "b"):
        save(library, run, one.id)
    library.runs.delete("a")
    assert [each.id for each in library.conversations.all()] == [unused.id, one.id]
    library.runs.delete("b")
    assert [each.id for each in library.conversations.all()] == [unused.id]


def test_a_library_of_the_version_before_is_brought_up_to_date(
    library: Library, open_library: OpenLibrary, fill: Callable[..., object]
) -> None:
    fill(library, "alpha")
    save(library, "a")
    of_the_version_before(library)
    library.close()
    again = open_library()
    assert again.conversations.all() == [] and pointers(again) == {"a": ""}
    one = again.conversations.create("one")
    save(again, "b", one.id)
    assert pointers(open_library()) == {"a": "", "b": one.id}
    assert again.search("alpha", 3) and not again.verify()
