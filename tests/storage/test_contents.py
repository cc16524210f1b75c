"""What a library is about: its documents, some titles, the commonest headings, as far as a filter lets through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crag.core.filters.where import Scope, narrow_filter
from crag.storage.library import Library
from crag.storage.search import CHUNKS, HEADINGS, TITLES
from tests.storage.conftest import OpenLibrary
from tests.support.library_makers import HashEmbedder, make_document


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
