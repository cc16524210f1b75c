"""Scopes: said in the filter language, read back from it, and met by the documents and tags that they name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.errors import FilterError, InputError
from crag.core.events import ScopeResolved
from crag.core.filters.where import ID, Scope, narrow_filter, parse, scope_of
from crag.messages.wording import scope_text

IDS = st.text("0123456789abcdef", min_size=64, max_size=64)
TAGS = st.text(st.characters(exclude_characters='[],"', exclude_categories=("C", "Z")), min_size=1, max_size=20)


@given(st.lists(IDS, max_size=5, unique=True), st.lists(TAGS, max_size=3, unique_by=str.casefold))
def test_a_scope_reads_back_and_meets_what_it_names(ids: list[str], tags: list[str]) -> None:
    where = narrow_filter("pages > 3 or verified", Scope(tuple(ids), tuple(tags)))
    found = scope_of(where)
    assert str(parse(where)) == where
    assert found.documents == tuple(id[:ID] for id in ids)
    assert parse(narrow_filter("", found)) == parse(narrow_filter("", Scope(tuple(ids), tuple(tags))))
    for id in ids:
        assert parse(where).matches({"id": id, "pages": 4}) and not parse(where).matches({"id": id, "pages": 3})
    for tag in found.tags:
        assert parse(where).matches({"id": "-", "tags": (tag,), "verified": True})
    if ids or tags:
        assert not parse(where).matches({"id": "-", "tags": (), "verified": True})


@pytest.mark.parametrize(
    ("where", "documents", "tags"),
    [
        ("tags has finance", (), ("finance",)),
        ("ID in (AB12) or Tags has 'annual report'", ("ab12",), ("annual report",)),
        ("id = ab12 and verified", ("ab12",), ()),
        ("verified and id = ab12", (), ()),
        ("id = ab12 or verified", (), ()),
        ("not tags has finance", (), ()),
    ],
)
def test_a_typed_filter_says_a_scope_where_it_begins_with_one(
    where: str, documents: tuple[str, ...], tags: tuple[str, ...]
) -> None:
    assert scope_of(where) == Scope(documents, tags)


def test_what_a_scope_can_t_be_is_told() -> None:
    many = Scope(tuple(f"{number:064x}" for number in range(101)))
    with pytest.raises(InputError, match="101 documents"):
        narrow_filter("", many)
    with pytest.raises(FilterError, match=r"2,\d\d\d characters"):
        narrow_filter("title contains " + "x" * 1_900, Scope(many.documents[:30]))


def test_an_id_is_compared_by_its_beginning_alone() -> None:
    fields = {"id": "ab12cd", "tags": ()}
    for text in ("id = AB12", "id in (ff, ab12cd)", "not id = cd", "id != cd", "id exists", "id contains 12"):
        assert parse(text).matches(fields), text
    for text in ("id = b12", "id != ab", "id = ab12cde"):
        assert not parse(text).matches(fields), text
    assert not parse("id != ab").matches({})


def test_a_scope_in_words() -> None:
    names = ("a.pdf", "b.pdf", "c.pdf", "d.pdf", "e.pdf")
    assert scope_text(ScopeResolved(documents=names[:1], tags=("finance",), at=0)) == "a.pdf; tag finance"
    assert scope_text(ScopeResolved(documents=names, tags=(), at=0)) == "a.pdf; b.pdf; c.pdf; 2 more documents"
    assert scope_text(ScopeResolved(documents=(), tags=(), gone=1, at=0)) == "1 document no longer in the library"
