"""Filters: what they match, how they are written and typed, and what is said of one that is wrong."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.errors import FilterError, InputError
from crag.core.events import ScopeResolved
from crag.core.filters import EVERY, ID, RELATIONS, Filter, Scope, check, filter_of, narrow_filter, scope_of
from crag.core.metadata import FIXED, known_fields
from crag.messages.wording import scope_text

REPORT: dict[str, Any] = {
    "id": "ab12cd",
    "name": "acme.pdf",
    "title": "2024",
    "pages": 12,
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
    "said",
    [
        {},
        {"verified": True, "pages": {">": 3, "<=": 12}, "date": {">=": "2024"}},
        {"tags": {"has": ["web", "annual REPORT"]}, "source": {"in": ["sec", "web"]}},
        {"any of": {"pages": {">": 100}, "source": "sec"}},
        {"any of": [{"pages": 12}, {"source": "sec", "verified": False}]},
        {"company": {"exists": False}, "tags": {"not has": "web", "exists": True}, "source": {"not in": ["web"]}},
        {"date": {"=": "2024-03", "in": ["2023", "2024"], "!=": "2024-04"}},
        {"due": {">": "2024-03", "not contains": "04"}, "title": {"contains": "24"}},
        {"code": "007", "year": {"==": 2024}, "said": "TRUE"},
        {"id": {"=": "AB12", "in": ["ff", "ab12cd"], "!=": "cd", "contains": "12"}},
        "date >= 2024",
        "VERIFIED",
        "tags has 10-k, web",
        ["year = 2024", "source not in web, press", '{"any of": {"code": "1", "pages": 12}}', "company not in acme"],
    ],
)
def test_the_report_is_let_through(said: Any) -> None:
    assert filter_of(said).matches(REPORT)


@pytest.mark.parametrize(
    "said",
    [
        {"verified": True, "pages": 3},
        {"any of": {"pages": 3, "verified": False}},
        {"tags": "10-K"},
        {"tags": {"contains": "report"}},
        {"source": {"has": "sec"}},
        {"date": {">": "2024"}},
        {"date": {"<": "2024-03-15"}},
        {"said": True},
        {"said": {"!=": False}},
        {"year": "2024"},
        {"code": 7},
        {"company": {"!=": "Acme"}},
        {"id": {"!=": "ab"}},
        {"id": "b12"},
        "not exists",
    ],
)
def test_the_report_is_held_back(said: Any) -> None:
    assert not filter_of(said).matches(REPORT)


@pytest.mark.parametrize(
    ("date", "met", "unmet"),
    [
        ("2024", ["= 2024", ">= 2024-01", "<= 2024-12-31", "< 2025", "!= 2023"], ["= 2024-03", "> 2024", "!= 2024-03"]),
        ("2024-03", ["= 2024", "> 2024-02-29", "<= 2024-03"], ["= 2024-03-01", "> 2024-03-01", "< 2024-03-31"]),
    ],
)
def test_a_date_that_is_less_exact_matches_where_it_surely_does(date: str, met: list[str], unmet: list[str]) -> None:
    assert all(filter_of(f"date {each}").matches({"date": date}) for each in met)
    assert not any(filter_of(f"date {each}").matches({"date": date}) for each in unmet)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"pages": {"$gte": 2}}, r'"pages" can\'t have .\$gte.. It may be =, !=, <'),
        ({"pages": {">": [2]}}, r'"pages" > can\'t be .\[2\]'),
        ({"tags": {"in": []}}, '"tags" in .*or a list of them'),
        ({"pages": None}, "can't be 'None'"),
        ({"pages": float("nan")}, "can't be 'nan'"),
        ({"pages": 10**400}, "can't be"),
        ({"pages": {"exists": "yes"}}, "may be true or false"),
        ({"any of": 3}, "holds '3'"),
        ({"no name": 1}, "can't name a field"),
        ({"title": {"contains": "x" * 2_000}}, r"2,\d\d\d characters"),
        ("verified and date >= 2024", "is no condition"),
        ("date >=", "gives no value"),
        ("{x", "no JSON"),
        ("{" * 100_000, "no JSON"),
        (['["a"]'], "can't name a field"),
    ],
)
def test_what_can_t_be_read_is_said_with_what_it_may_be(said: Any, error: str) -> None:
    with pytest.raises(FilterError, match=error) as raised:
        filter_of(said)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("conpany = acme", r'"conpany", which no document has. Did you mean company\?'),
        ("zzz exists", '"zzz".*Fields there are: added, author, company'),
        ("confidence > high", "confidence is a number. Write it like: confidence >= 1"),
        ("date >= soon", "date is a date. Write it like: date >= 2024"),
        ("verified = maybe", "verified is true or false"),
        ("verified > true", "verified is true or false"),
        ("tags = x", "tags is a list. Write it like: tags has"),
        ("tags contains x", "tags is a list"),
        ("source has sec", "source is a text"),
        ("price contains x", "price is a date or a number"),
    ],
)
def test_what_no_document_can_meet_is_said(said: str, error: str) -> None:
    known = known_fields([{"company": "Acme", "price": 3}, {"price": "2024-03"}])
    with pytest.raises(FilterError, match=re.compile(error)):
        check(filter_of({"any of": [filter_of(said).dictionary]}), known)


NAMES = st.sampled_from(["a", "tags", "date", "Verified", "x.y-z", "été", "id", "in"])
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    st.sampled_from(["true", "False", "2024", "2024-03", "0.7", "007", "a, b", "[a]", '"a"', "10-K", "{}", "="]),
)
PLAIN = st.one_of(TEXTS, st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False))
CONDITIONS = st.one_of(
    PLAIN,
    st.dictionaries(st.sampled_from([each for each in RELATIONS if "exists" not in each]), PLAIN, min_size=1),
    st.fixed_dictionaries({"exists": st.booleans()}),
    st.dictionaries(st.sampled_from(["in", "has", "not in"]), st.lists(PLAIN, min_size=1, max_size=3), min_size=1),
)
DICTIONARIES = st.dictionaries(NAMES, CONDITIONS, max_size=3)
FILTERS = st.tuples(DICTIONARIES, st.lists(DICTIONARIES.filter(bool), max_size=2)).map(
    lambda both: {**both[0], **({"any of": both[1]} if both[1] else {})}
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(PLAIN, st.lists(TEXTS).map(tuple)),
        "tags": st.lists(TEXTS).map(tuple),
        "date": st.sampled_from(["2024", "2024-03", "2023-01-31"]),
        "verified": st.booleans(),
        "id": st.text("ab1", min_size=1, max_size=4),
    },
)


@given(FILTERS, FIELDS)
def test_a_filter_reads_and_acts_the_same_however_it_is_written(said: dict[str, Any], fields: dict[str, Any]) -> None:
    found = filter_of(said)
    for again in (found.dictionary, json.dumps(found.dictionary), found.lines, dict(reversed(said.items()))):
        assert filter_of(again) == found
    assert found.matches(fields) is filter_of(found.lines).matches(fields)
    assert bool(found) is bool(said)


@given(DICTIONARIES, DICTIONARIES, FIELDS)
def test_all_and_any_are_what_logic_says(one: dict[str, Any], other: dict[str, Any], fields: dict[str, Any]) -> None:
    def met(said: Any) -> bool:
        return filter_of(said).matches(fields)

    lines = [line for each in (one, other) for line in filter_of(each).lines]
    assert met(lines) is (met(one) and met(other))
    if one:
        assert met({"any of": one}) is any(met(line) for line in filter_of(one).lines)


@given(DICTIONARIES, st.lists(FIELDS, max_size=3))
def test_what_is_refused_by_its_fields_is_met_by_none(said: dict[str, Any], documents: list[dict[str, Any]]) -> None:
    known = known_fields(documents)
    for clause in filter_of(said).clauses:
        if not clause[0].relation.startswith("not ") and clause[0].relation != "exists":
            try:
                check(Filter((clause,)), known)
            except FilterError:
                assert not any(Filter((clause,)).matches(each) for each in documents)


@given(
    st.one_of(st.text(), st.recursive(st.none() | PLAIN, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
)
def test_any_value_is_a_filter_or_is_refused_as_one(said: Any) -> None:
    try:
        found = filter_of(said if isinstance(said, str) else json.dumps(said))
    except FilterError as error:
        assert error.message and error.remedy
        return
    assert filter_of(found.dictionary) == found
    assert found.matches(REPORT) in (True, False)


def test_every_fixed_field_takes_a_condition_that_is_typed() -> None:
    typed = {"text": "= x", "number": "> 1", "date": ">= 2024", "boolean": "= false", "list": "has x"}
    for name, kind in FIXED.items():
        made = filter_of(f"{name} {typed[kind]}")
        check(made, known_fields([]))
        assert made.lines == [f"{name} {typed[kind]}"]


# Scopes: read back from a filter, and met by the documents and tags that they name


IDS = st.text("0123456789abcdef", min_size=64, max_size=64)
TAGS = st.text(st.characters(exclude_characters='[],"', exclude_categories=("C", "Z")), min_size=1, max_size=20)


@given(st.lists(IDS, max_size=5, unique=True), st.lists(TAGS, max_size=3, unique_by=str.casefold))
def test_a_scope_reads_back_and_meets_what_it_names(ids: list[str], tags: list[str]) -> None:
    scope = Scope(tuple(ids), tuple(tags))
    where = narrow_filter(filter_of({"any of": {"pages": {">": 3}, "verified": True}}), scope)
    found = scope_of(filter_of(where.dictionary))
    assert found == Scope(tuple(id[:ID] for id in ids), tuple(tags))
    assert narrow_filter(EVERY, found) == narrow_filter(EVERY, scope)
    assert narrow_filter(where, scope) == where
    for id in ids:
        assert where.matches({"id": id, "pages": 4}) and not where.matches({"id": id, "pages": 3})
    for tag in tags:
        assert where.matches({"id": "-", "tags": (tag,), "verified": True})
    if ids or tags:
        assert not where.matches({"id": "-", "tags": (), "verified": True})


def test_a_scope_narrows_a_filter_of_the_same_field() -> None:
    where = narrow_filter(filter_of({"tags": {"has": "audit"}}), Scope(tags=("finance",)))
    assert where.matches({"tags": ("audit", "finance")})
    assert not where.matches({"tags": ("audit",)}) and not where.matches({"tags": ("finance",)})


@pytest.mark.parametrize(
    ("said", "documents", "tags"),
    [
        ({"tags": {"has": "finance"}, "verified": True}, (), ("finance",)),
        ({"any of": {"id": {"in": ["AB12"]}, "tags": {"has": ["annual report"]}}}, ("ab12",), ("annual report",)),
        ({"any of": {"id": {"in": ["ab12"]}, "verified": True}}, (), ()),
        ({"tags": {"not has": "finance"}}, (), ()),
    ],
)
def test_a_filter_of_ids_or_tags_alone_says_a_scope(
    said: dict[str, Any], documents: tuple[str, ...], tags: tuple[str, ...]
) -> None:
    assert scope_of(filter_of(said)) == Scope(documents, tags)


def test_what_a_scope_can_t_be_is_told() -> None:
    many = Scope(tuple(f"{number:064x}" for number in range(101)))
    assert narrow_filter(EVERY, Scope(many.documents[:100])).matches({"id": many.documents[99]})
    with pytest.raises(InputError, match="101 documents"):
        narrow_filter(EVERY, many)
    with pytest.raises(FilterError, match=r"2,\d\d\d characters"):
        narrow_filter(filter_of({"title": {"contains": "x" * 1_900}}), Scope(many.documents[:30]))


def test_a_scope_in_words() -> None:
    names = ("a.pdf", "b.pdf", "c.pdf", "d.pdf", "e.pdf")
    assert scope_text(ScopeResolved(documents=names[:1], tags=("finance",), at=0)) == "a.pdf; tag finance"
    assert scope_text(ScopeResolved(documents=names, tags=(), at=0)) == "a.pdf; b.pdf; c.pdf; 2 more documents"
    assert scope_text(ScopeResolved(documents=(), tags=(), gone=1, at=0)) == "1 document no longer in the library"
