"""The keyword rewriter: what it keeps of a question, and how it turns away from what failed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.protocols import Rewriter
from crag.retrieval.rewriting import KeywordRewriter
from crag.testing.contracts import RewriterContract
from crag.testing.fakes import chunk_of
from crag.text.words import keywords, variants


def query(question: str, limit: int = 3, **more: object) -> str:
    return KeywordRewriter().rewrite(question, max_keywords=limit, **more)  # type: ignore[arg-type]


class TestKeywordRewriter(RewriterContract):
    @pytest.fixture
    def rewriter(self) -> Rewriter:
        return KeywordRewriter()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is Henry Feilden's occupation?", "Henry Feilden, occupation"),
        (
            "How many claims did the Office of Personnel Management process in 2019?",
            "claims, Office of Personnel Management, 2019",
        ),
        ('What does "adverse event" mean in the protocol?', "adverse event, mean, protocol"),
        ("What was the revenue of AT&T and 3M in FY 2018, in millions?", "revenue, AT&T, FY 2018"),
    ],
)
def test_what_is_kept(question: str, expected: str) -> None:
    assert query(question) == expected


def test_what_the_failed_chunks_lack_comes_first() -> None:
    failed = [
        chunk_of("Retirement claims are processed within sixty days."),
        chunk_of("The processing of a retirement claim starts when the agency sends it."),
    ]
    found = query("How are retirement claims of disabled firefighters handled?", 3, failed=failed)
    assert "disabled firefighters" in found
    assert "retirement claims" not in found


def test_case_and_punctuation_make_no_new_query() -> None:
    first = query("Who owns the Kiruna mine?")
    again = query("Who owns the Kiruna mine?", tried=[first.upper().replace(",", " ;")])
    assert again.casefold() != first.casefold()


def test_a_hundred_tries_give_a_hundred_queries() -> None:
    tried: list[str] = []
    for _ in range(100):
        tried.append(query("Who owns the mine?", tried=tried))
    assert len({each.casefold() for each in tried}) == 100


def test_variants_are_words() -> None:
    assert variants("policy") == ["policies"]
    assert variants("claims") == ["claim"]
    assert variants("cost-benefit") == ["cost", "benefit"]
    assert variants("business") == variants("women") == variants("日本") == []


@given(st.text(max_size=300), st.integers(1, 10))
def test_any_question_gives_a_query(question: str, limit: int) -> None:
    found = KeywordRewriter().rewrite(question, max_keywords=limit)
    assert found
    assert "\n" not in found.strip("\n") or not keywords(question)


@given(st.text(alphabet="abc XY.,\"'-12&of", max_size=200))
def test_keywords_come_from_the_question_in_its_order(question: str) -> None:
    places = [keyword.place for keyword in keywords(question)]
    assert places == sorted(places)
    assert all(keyword.text.split()[0] in question for keyword in keywords(question))
