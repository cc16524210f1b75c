"""Conversations: titled, listed and deleted; a run points to one that is there, and the last run takes it along."""

from collections.abc import Callable

import pytest

from crag.core.errors import InputError, NotFoundError
from crag.storage.library import Library
from tests.support.library_makers import save_run

OpenLibrary = Callable[..., Library]


def save(library: Library, run: str, conversation: str = "", question: str = "why?", via: str = "app") -> None:
    save_run(library, run, question, conversation=conversation, via=via)


def pointers(library: Library) -> dict[str, str]:
    return {each: library.conversations.of(each) for each in library.runs.ids()}


def titles(library: Library, containing: str = "", limit: int = 30) -> list[str]:
    return [each.title for each in library.conversations.latest(limit, containing)]


def test_what_was_used_last_comes_first_with_runs_that_belong_to_no_conversation(library: Library) -> None:
    one, other = (library.conversations.create(title) for title in ("Lighthouses", "Ferries"))
    for run, talk, asked in (("a", one, "how tall?"), ("b", "", "Why is 100% sand?"), ("c", other, "How fast?")):
        save(library, run, talk, asked, "http" if run == "b" else "app")
    save(library, "d", one, "and ÄRMEL?")
    save(library, f"{'e' * 16}-1", question="of an evaluation")
    latest = library.conversations.latest()
    assert [(each.id, each.title, each.run) for each in latest] == [
        (one, "Lighthouses", "d"),
        (other, "Ferries", "c"),
        ("", "Why is 100% sand?", "b"),
    ]
    assert titles(library, limit=2) == ["Lighthouses", "Ferries"]
    assert titles(library, "FERR") == ["Ferries"] and titles(library, "TALL") == ["Lighthouses"]
    assert titles(library, "0% S") == ["Why is 100% sand?"] and not [*titles(library, "%x"), *titles(library, "eval")]
    library.conversations.rename(other, "  Ships\nand boats ")
    assert titles(library)[1] == "Ships and boats"
    assert library.conversations.of("d") == one and library.conversations.of("b") == "" == library.conversations.of("z")


def test_a_title_is_one_line_of_at_most_300_characters(library: Library) -> None:
    id = library.conversations.create("\u05e9\u05dc\u05d5\u05dd " * 50)
    for title, said in (("x" * 301, "301 characters"), (" \n ", "needs a name")):
        with pytest.raises(InputError, match=said):
            library.conversations.rename(id, title)
        with pytest.raises(InputError, match=said):
            library.conversations.create(title)
    library.conversations.rename(id, "x" * 300)


def test_a_run_of_none_is_the_first_of_a_new_one_and_a_run_of_another_stays_there(library: Library) -> None:
    save(library, "a")
    first = library.conversations.create("one", ["a"])
    save(library, "b", first)
    other = library.conversations.create("two", ["a", "no run"])
    assert library.conversations.runs(first) == ["a", "b"] and library.conversations.runs(other) == []
    assert library.conversations.runs(first, 1) == ["b"], "the latest of very many"
    library.conversations.drop_empty(other)
    library.conversations.drop_empty(first)
    library.conversations.rename(first, "still there")
    with pytest.raises(NotFoundError, match="no conversation"):
        library.conversations.rename(other, "x")


def test_a_deleted_conversation_takes_its_runs_along_and_comes_back_as_it_was(library: Library) -> None:
    one, other = (library.conversations.create(title) for title in ("one", "other"))
    for run, talk in (("a", one), ("b", other), ("c", one)):
        save(library, run, talk)
    before, calls = library.conversations.latest(), library.runs.trace("a")
    gone = library.conversations.delete(one)
    assert gone.ids == ["a", "c"] and pointers(library) == {"b": other} and titles(library) == ["other"]
    assert "why?" not in repr(gone), "a log that shows it shows no question"
    with pytest.raises(NotFoundError, match="no run a"):
        library.runs.trace("a")
    with pytest.raises(NotFoundError, match="no conversation"):
        library.conversations.delete(one)
    save(library, "d", one)
    assert pointers(library)["d"] == "", "a run that ends after its conversation was deleted belongs to none"
    library.runs.delete("d")
    for _ in range(2):
        library.runs.restore(gone)
        assert library.conversations.latest() == before and library.runs.trace("a") == calls
    assert library.conversations.runs(one) == ["a", "c"]


def test_a_conversation_goes_with_its_last_run_and_comes_back_with_it(library: Library) -> None:
    one = library.conversations.create("one")
    for run in ("a", "b"):
        save(library, run, one)
    library.runs.delete("a")
    assert titles(library) == ["one"]
    gone = library.runs.delete("b")
    assert titles(library) == []
    library.runs.restore(gone)
    assert titles(library) == ["one"] and library.conversations.runs(one) == ["b"]
