"""Documents' fields in a library: given, kept, asked for by a filter, and in force at once."""

from collections.abc import Callable
from typing import Any

import pytest

from crag.core.errors import FilterError, InputError, NotFoundError
from crag.core.filters import filter_of
from crag.core.protocols import SearchQuery
from crag.core.types import Document
from crag.storage.library import Library

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
        ({"verified": True}, {"alpha"}),
        ({"confidence": {">": 0.7}}, {"alpha", "gamma"}),
        ({"any of": {"tags": {"has": "draft"}, "name": "gamma.pdf"}}, {"beta", "gamma"}),
        ({"date": {">=": "2024"}, "verified": True}, {"alpha"}),
        ({"price": {"<": 20}}, {"beta"}),
    ],
)
def test_only_documents_that_meet_the_filter_are_searched(
    library: Library, three: dict[str, str], where: dict[str, Any], met: set[str]
) -> None:
    assert sources(library, where=filter_of(where)) == met
    assert {each.chunk.source for each in library.find_in_records(SearchQuery("part", 50, where=filter_of(where)))} == {
        f"{x}.pdf" for x in met
    }


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"colour": "red"}, "colour"),
        ({"confidence": {">": "high"}}, "high"),
        ({"price": {">": 100}}, "No document of the library meets the filter price > 100"),
        ({"name": "x'; DROP TABLE documents; --"}, "No document"),
    ],
)
def test_a_filter_that_is_wrong_says_how(
    library: Library, three: dict[str, str], where: dict[str, Any], said: str
) -> None:
    with pytest.raises(FilterError, match=said) as raised:
        library.find(SearchQuery("copper", 5, where=filter_of(where)))
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
