"""Documents' fields in a library: given, kept, asked for by a filter, and in force at once."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crag.core.errors import FilterError, InputError, NotFoundError
from crag.core.filters.where import Scope, narrow_filter
from crag.core.protocols import SearchQuery
from crag.core.types import Document
from crag.storage.about import CHUNKS, HEADINGS, TITLES
from crag.storage.library import Library
from tests.storage.conftest import OpenLibrary
from tests.support.library_makers import HashEmbedder, make_document

Fill = Callable[..., Document]


@pytest.fixture
def three(library: Library, fill: Fill) -> dict[str, str]:
    """Three documents with fields; their ids by name."""
    ids = {
        label: fill(library, label, confidence=confidence).id
        for label, confidence in (("alpha", 0.9), ("beta", 0.5), ("gamma", 0.8))
    }
    library.documents.describe(ids["alpha"], {"tags": ("report", "2024"), "verified": True, "date": "2024-03-01"})
    library.documents.describe(ids["beta"], {"tags": ("draft",), "price": 12.5})
    return ids


def sources(library: Library, **limits: object) -> set[str]:
    return {each.chunk.source.removesuffix(".pdf") for each in library.find(SearchQuery("copper part", 50, **limits))}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "met"),
    [
        ("verified", {"alpha"}),
        ("confidence > 0.7", {"alpha", "gamma"}),
        ('tags has draft or name = "gamma.pdf"', {"beta", "gamma"}),
        ("date >= 2024 and verified", {"alpha"}),
        ("price < 20", {"beta"}),
    ],
)
def test_only_documents_that_meet_the_filter_are_searched(
    library: Library, three: dict[str, str], where: str, met: set[str]
) -> None:
    assert sources(library, where=where) == met
    assert {each.chunk.source for each in library.find_in_records(SearchQuery("part", 50, where=where))} == {
        f"{x}.pdf" for x in met
    }


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("confidence >", "expected a value"),
        ("colour = red", "colour"),
        ("confidence > high", "high"),
        ("price > 100", "No document of the library meets the filter"),
        ('name = "x"\'; DROP TABLE documents; --', "column"),
    ],
)
def test_a_filter_that_is_wrong_says_how(library: Library, three: dict[str, str], where: str, said: str) -> None:
    with pytest.raises(FilterError, match=said) as raised:
        library.find(SearchQuery("copper", 5, where=where))
    assert raised.value.remedy
    assert library.size == (3, 12)


def test_fields_are_checked_and_nothing_is_kept_of_wrong_ones(library: Library, three: dict[str, str]) -> None:
    before = library.documents.fields(three["alpha"])
    for wrong in ({"name": "x"}, {"pages": 3}, {"a b": 1}, {"confidence": 7}, {"verified": "perhaps"}):
        with pytest.raises(InputError):
            library.documents.describe(three["alpha"], {"ok": 1, **wrong})
    with pytest.raises(NotFoundError):
        library.documents.describe("nowhere", {"ok": 1})
    with pytest.raises(NotFoundError):
        library.documents.fields("nowhere")
    assert library.documents.fields(three["alpha"]) == before


# What a library is about: its documents, some titles, the commonest headings, as far as a filter lets through


def add(library: Library, label: str, headings: list[str]) -> str:
    document, data, made = make_document(label, len(headings))
    chunks = [replace(each, context=f"{each.title} › {said}") for each, said in zip(made, headings, strict=True)]
    vectors = HashEmbedder().embed([chunk.indexed_text for chunk in chunks])
    library.documents.add(document, data, chunks, np.asarray(vectors))
    return document.id


def test_titles_and_the_commonest_headings_are_told_of_what_a_filter_lets_through(open_library: OpenLibrary) -> None:
    library = open_library()
    assert library.about().documents == 0
    first = add(library, "first", ["Retirement Services"] * 4 + ["Overview"])
    add(library, "second", ["Legal Proceedings", "ITEM 1. Income Taxes"])
    add(library, "third", ["Legal Proceedings"])
    about = library.about()
    assert (about.documents, set(about.titles)) == (3, {"first", "second", "third"})
    assert about.headings == ("Legal Proceedings", "Retirement Services", "Income Taxes")
    alone = library.about(where=narrow_filter("", Scope((first,), ())))
    assert (alone.documents, alone.titles, alone.headings) == (1, ("first",), ("Retirement Services",))


def test_a_large_library_is_looked_at_here_and_there(open_library: OpenLibrary) -> None:
    library = open_library()
    for number in range(60):
        add(library, f"report {number}", [f"Matters of Department {number}"] * (CHUNKS // 20))
    about = library.about()
    assert about.documents == 60 and len(about.titles) == TITLES and len(about.headings) == HEADINGS
