"""Filters: what they match, how they read, and what is said of one that is wrong."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.errors import FilterError, InputError
from crag.core.events import ScopeResolved
from crag.core.filters.syntax import Condition
from crag.core.filters.where import ID, Filter, Scope, check, narrow_filter, parse, scope_of
from crag.core.metadata import days_in, known_fields
from crag.messages.wording import scope_text

REPORT: dict[str, Any] = {
    "name": "acme.pdf",
    "title": "Form 10-K of Acme",
    "pages": 12,
    "added": "2026-11-01",
    "confidence": 0.8,
    "verified": True,
    "source": "SEC",
    "tags": ("Annual report", "10-K"),
    "date": "2024-03-15",
    "code": "007",
    "year": 2024,
    "due": "2024-04",
    "said": "true",
}


@pytest.mark.parametrize(
    "text",
    [
        "VERIFIED AND Confidence > .7 and date >= 2024",
        'tags has "annual report" or source in ("web", "other")',
        "added < 2026-11-02 and added < 2026-12 and added <= 2026-11 and added <= 2026 and added > 2026-10",
        "date = 2024 and date = 2024-03 and date = 2024-03-15 and date in (2023, 2024)",
        "date != 2024-04 and not date > 2024-03 and not date < 2024",
        'said = "TRUE" and said contains tru',
        "due > 2024-03 and not due contains 04",
        "company not exists and tags not has web and source not in (web)",
    ],
)
def test_the_report_is_let_through(text: str) -> None:
    assert parse(text).matches(REPORT)


@pytest.mark.parametrize(
    "text",
    [
        'confidence > "0.7"',
        "tags = 10-K",
        "tags contains report",
        "source has sec",
        "date > 2024",
        "date < 2024-03-15",
        "said = true or said != false",
        "verified and not verified",
    ],
)
def test_the_report_is_held_back(text: str) -> None:
    assert not parse(text).matches(REPORT)


@pytest.mark.parametrize(
    ("date", "met", "unmet"),
    [
        ("2024", ["= 2024", ">= 2024-01", "<= 2024-12-31", "< 2025", "!= 2023"], ["= 2024-03", "> 2024", "!= 2024-03"]),
        ("2024-03", ["= 2024", "> 2024-02-29", "<= 2024-03"], ["= 2024-03-01", "> 2024-03-01", "< 2024-03-31"]),
    ],
)
def test_a_date_that_is_less_exact_matches_where_it_surely_does(date: str, met: list[str], unmet: list[str]) -> None:
    assert all(parse(f"date {each}").matches({"date": date}) for each in met)
    assert not any(parse(f"date {each}").matches({"date": date}) for each in unmet)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Verified=TRUE", "verified"),
        ("((a=1))and(b=2 and c)", "a = 1 and b = 2 and c"),
        ("(a and b) or c", "a and b or c"),
        ("a and (b or c)", "a and (b or c)"),
        ("not(a and b)", "not (a and b)"),
        ("a not in ('x y',z)", 'not a in ("x y", z)'),
        ('a = "12" or a = 12', 'a = "12" or a = 12'),
        ('a = "say ""x"""', 'a = "say ""x"""'),
        ("a = 'it''s'", 'a = "it\'s"'),
    ],
)
def test_a_filter_has_one_way_to_be_written(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(text) == parse(canonical)


def test_it_names_the_fields_that_it_asks_for() -> None:
    assert parse("a and not (B = c or d.e-f exists)").fields == {"a", "b", "d.e-f"}
    assert parse("").fields == frozenset()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("verified and", "ends too early, at column 13: expected a field"),
        ("(a", r'column 3: expected "and", "or" or "\)"'),
        ("company = acme corp", 'column 16, at "corp".*several words in quotes'),
        ("a not = 3", 'column 7, at "=".*Write "not" before the field'),
        ("a in b", "column 6.*values joined by commas"),
        ('a = "b', "column 5.*not closed"),
        ("a = x\0y", "no text, at column 6"),
    ],
)
def test_what_can_t_be_read_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(FilterError, match=said):
        parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("conpany = acme", r'"conpany" at column 1, which no document has. Did you mean company\?'),
        ("verified and zzz exists", '"zzz" at column 14.*Fields there are: added, author, company'),
        ("confidence > high", 'confidence is a number; "high" is not. Write it like: confidence >= 1'),
        ("verified and date >= soon", 'at column 14, .*date is a date; "soon" is not'),
        ("verified = maybe", 'true or false; "maybe" is not'),
        ("tags = x", 'tags is a list, which "=" does not compare. Write it like: tags has'),
        ("tags contains x", "only a text contains"),
        ("source has sec", "source is a text, and only a list has something"),
    ],
)
def test_what_no_document_can_meet_is_said(text: str, said: str) -> None:
    known = known_fields([{"company": "Acme", "price": 3}, {"price": "2024-03"}])
    with pytest.raises(FilterError, match=re.compile(said)):
        check(parse(text), known)


NAMES = st.sampled_from(["a", "tags", "date", "Verified", "x.y-z", "été"])
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=8),
    st.sampled_from(["true", "False", "2024", "2024-03", "0.7", "007", "and", "a b", "10-K", "”", "''", "="]),
)
VALUES = st.one_of(
    TEXTS.map(lambda text: '"' + text.replace('"', '""') + '"'),
    TEXTS.map(lambda text: "'" + text.replace("'", "''") + "'"),
    st.sampled_from(["true", "FALSE", "2024", "2024-03-01", "-1.5", "acme", "x.pdf"]),
)
CONDITIONS = st.one_of(
    NAMES,
    NAMES.map(lambda name: f"{name} exists"),
    st.tuples(NAMES, st.sampled_from(["=", "==", "!=", "<", "≤", ">", ">=", " has ", " CONTAINS "]), VALUES).map(
        "".join
    ),
    st.tuples(NAMES, st.lists(VALUES, min_size=1, max_size=3)).map(lambda both: f"{both[0]} in ({','.join(both[1])})"),
)
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        inner.map(lambda text: f"not ({text})"),
        inner.map(lambda text: f"({text})"),
        st.tuples(inner, st.sampled_from([" and ", " or ", ") and ("]), inner).map(lambda all: f"({''.join(all)})"),
    ),
    max_leaves=8,
)
ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
    st.lists(st.none() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=2), st.none(), max_size=1),
)
FIELDS = st.dictionaries(st.sampled_from(["a", "tags", "date", "verified", "x.y-z", "été"]), ANY)


@given(FILTERS, FIELDS)
def test_a_filter_reads_and_acts_the_same_from_its_own_text(text: str, fields: dict[str, Any]) -> None:
    found = parse(text)
    again = parse(str(found))
    assert again == found and str(again) == str(found) and again.fields == found.fields
    assert again.matches(fields) is found.matches(fields)


@given(FILTERS, FILTERS, FIELDS)
def test_not_and_and_or_are_what_logic_says(one: str, other: str, fields: dict[str, Any]) -> None:
    def met(text: str) -> bool:
        return parse(text).matches(fields)

    assert met(f"not ({one})") is not met(one)
    assert met(f"not not ({one})") is met(one)
    assert met(f"({one}) and ({other})") is (met(one) and met(other))
    assert met(f"({one}) or ({other})") is (met(one) or met(other))


@given(FILTERS, st.lists(FIELDS, max_size=3))
def test_what_is_refused_by_its_fields_is_met_by_none_without_not(text: str, documents: list[dict[str, Any]]) -> None:
    """A condition that `check` refuses is one that no document meets; one of several values is enough."""
    known = known_fields([{name: value for name, value in each.items() if plain(value)} for each in documents])
    for condition in conditions(parse(text)):
        try:
            check(condition, known)
        except FilterError:
            assert not any(condition.matches(typed(each)) for each in documents)


def plain(value: Any) -> bool:
    return value is not None and not isinstance(value, dict)


def typed(fields: dict[str, Any]) -> dict[str, Any]:
    """Those of the fields that `known_fields` was told of and that are of their kind."""
    kinds = {"verified": bool, "tags": tuple, "date": str}
    known = {name: value for name, value in fields.items() if isinstance(value, kinds.get(name, object))}
    return {name: value for name, value in known.items() if plain(value) and (name != "date" or days_in(str(value)))}


def conditions(filter: Filter) -> list[Filter]:
    """Each condition of a filter that asks for one value, as a filter of its own."""
    found = [filter.clause]
    for each in found:
        found += getattr(each, "clauses", ()) or ([each.clause] if hasattr(each, "clause") else [])
    return [Filter(each) for each in found if isinstance(each, Condition) and len(each.operands) <= 1]


@given(
    st.one_of(
        st.text(),
        st.lists(st.one_of(FILTERS, st.text(alphabet="(),=<>!\"'“ anotdriex0.-\\%;", max_size=5))).map(" ".join),
    )
)
def test_any_text_is_a_filter_or_is_refused_as_one(text: str) -> None:
    try:
        found = parse(text)
    except FilterError as error:
        assert error.message and error.remedy
        return
    assert parse(str(found)) == found
    assert found.matches(REPORT) in (True, False)


# Scopes: said in the filter language, read back from it, and met by the documents and tags that they name


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
