"""Search: any text is safe, the named document comes first, pages take turns, filters and decay do as they say."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crag.core.errors import FilterError
from crag.core.filters import EVERY, filter_of
from crag.core.protocols import SearchQuery
from crag.core.types import Document
from crag.index.chunk_index import Candidates
from crag.retrieval.ranking import (
    CARD_WEIGHT,
    PAGE_DISCOUNT,
    UNNAMED_DISCOUNT,
    Rows,
    asked_terms,
    join_candidates,
    question_terms,
    rank,
    search_terms,
    without_names,
)
from crag.storage.catalog import Catalog
from crag.storage.library import Library
from crag.storage.title_index import TitleIndex
from tests.support.library_makers import HashEmbedder, make_document

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]
MODES = ("hybrid", "dense", "bm25")


@pytest.mark.parametrize(
    "query",
    [
        'copper" OR 1=1 --',
        "NEAR(copper willow, 3)",
        "text:copper AND NOT -willow* ^first {a b}",
        "copper\x00willow \ud83d half",
        "((((",
        "the of and",
        "漢字 العربية 🙂 ﬀ",
        "'; DROP TABLE chunks; --",
        "copper " * 5_000,
    ],
)
def test_any_text_is_a_safe_query(library: Library, fill: Fill, query: str) -> None:
    fill(library, "alpha", 12)
    for mode in MODES:
        found = library.find(SearchQuery(query, 5, mode=mode))  # type: ignore[arg-type]
        assert len(found) <= 5
        if "copper" in query and mode != "dense":  # hashed words are too coarse to rank by
            assert any("copper" in each.chunk.text for each in found)
    assert library.size == (1, 12)


@pytest.mark.parametrize("mode", MODES)
def test_ranks_count_from_one_and_similarity_never_rises(library: Library, fill: Fill, mode: str) -> None:
    fill(library, "alpha", 30)
    found = library.find(SearchQuery("copper willow orbit", 12, mode=mode))  # type: ignore[arg-type]
    assert [each.rank for each in found] == list(range(1, len(found) + 1))
    similarities = [each.similarity for each in found]
    assert similarities == sorted(similarities, reverse=True)
    assert len({each.chunk.id for each in found}) == len(found)
    assert all(each.dense is not None for each in found)


def test_dense_is_the_cosine_of_the_vectors(library: Library, fill: Fill, embedder: HashEmbedder) -> None:
    document = fill(library, "alpha", 20)
    query = "glacier anthem"
    expected = {
        chunk.id: float(embedder.embed([chunk.indexed_text])[0] @ embedder.embed([query])[0])
        for chunk in library.documents.chunks(document.id)
    }
    found = library.find(SearchQuery(query, 20, mode="dense"))
    assert {each.chunk.id: each.similarity for each in found} == pytest.approx(expected, abs=1e-5)


def test_bm25_finds_words_in_other_forms_and_in_the_context(library: Library, fill: Fill) -> None:
    texts = ["The ferries were delayed.", "Nothing here."]
    fill(library, "notes", texts=texts, title="Harbour rules")
    found = library.find(SearchQuery("delay of a ferry", 5, mode="bm25"))
    assert [each.chunk.text for each in found] == texts[:1]
    assert len(library.find(SearchQuery("harbour", 5, mode="bm25"))) == 2
    assert library.find(SearchQuery("zeppelin", 5, mode="bm25")) == []


def test_the_document_that_the_question_names_comes_first(library: Library, embedder: HashEmbedder) -> None:
    text = "Total current assets at the end of the year, with revenue and inventory beside them."
    for name, title in [
        ("NORTHWIND_2019_10K", "Northwind Traders, annual report, fiscal year ended May 31, 2019"),
        ("NORTHWIND_2021_10K", "Northwind Traders, annual report, fiscal year ended May 31, 2021"),
        ("FABRIKAMSHIPPING_2021_10K", "Annual report"),
        ("CONTOSO_2019_10K", "Contoso, annual report, fiscal year ended June 30, 2019"),
    ]:
        document, data, chunks = make_document(name, texts=[text, f"Page of {name.lower()}"], title=title)
        chunks = [*chunks[:1]]
        library.documents.add(document, data, chunks, embedder.embed([text]))

    def first(question: str) -> str:
        return library.search(question, 1)[0].chunk.source

    assert first("What were Northwind's total current assets at the end of FY2019?") == "NORTHWIND_2019_10K.pdf"
    assert first("How did Northwind's inventory grow from FY2019 to FY21?") == "NORTHWIND_2021_10K.pdf"
    assert first("total current assets of Contoso") == "CONTOSO_2019_10K.pdf"
    assert first("What is the revenue of Fabrikam Shipping?") == "FABRIKAMSHIPPING_2021_10K.pdf"


@pytest.mark.parametrize(
    ("question", "bare"),
    [
        ("What is the deductible of Northwind Health Plus for a family?", "What is the deductible of for a family?"),
        ("What are Northwind's co-payments for visits?", "What are co-payments for visits?"),
        ("Northwind: what is the deductible for a family?", ""),  # the first word has a capital anyway
        ("what is the deductible of northwind?", ""),
        ("What is Northwind Health?", ""),  # nothing is left
        ("What is the deductible of Contoso?", ""),
    ],
)
def test_a_question_without_the_names_of_documents(question: str, bare: str) -> None:
    assert without_names(question, ["plan.pdf Northwind HealthPlus Benefits", "other.pdf"]) == bare


def test_a_chunk_of_a_named_document_need_not_say_its_name(library: Library, embedder: HashEmbedder) -> None:
    texts = ["The yearly deductible is $1,500 for families.", "Northwind Plus cares for you."]
    for name, own in {"Northwind Plus": texts, "Contoso": ["Contoso: deductible for families, $900."]}.items():
        document, data, chunks = make_document(name, texts=own, title=name)
        library.documents.add(document, data, chunks, embedder.embed(own))
    asked, bare = "deductible for families of Northwind Plus", "deductible for families of"
    nearness = [float(embedder.embed([text])[0] @ embedder.embed(texts)[0]) for text in (asked, bare)]
    assert nearness[0] < nearness[1] - UNNAMED_DISCOUNT
    dense = {found.chunk.text: found.dense for found in library.find(SearchQuery(asked, 3))}
    assert dense[texts[0]] == pytest.approx(nearness[1] - UNNAMED_DISCOUNT, abs=2e-3)
    [other] = {text for text in dense if "$900" in text}
    assert dense[other] == pytest.approx(float(embedder.embed([asked])[0] @ embedder.embed([other])[0]), abs=2e-3)


def test_a_documents_similarity_halves_every_half_life(library: Library, fill: Fill) -> None:
    now = datetime.now(UTC)
    old = fill(library, "alpha", 1, added_at=(now - timedelta(days=20)).isoformat())
    new = fill(library, "beta", 1, added_at=now.isoformat())
    decayed = {
        each.chunk.document_id: each.similarity
        for each in library.find(SearchQuery("copper harbour", 2, mode="dense", half_life_days=10))
    }
    plain = {
        each.chunk.document_id: each.similarity for each in library.find(SearchQuery("copper harbour", 2, mode="dense"))
    }
    assert decayed[old.id] == pytest.approx(plain[old.id] / 4, rel=1e-3)
    assert decayed[new.id] == pytest.approx(plain[new.id], rel=1e-3)


def test_short_forms_of_years_are_written_out() -> None:
    assert question_terms("What was Nike's FY2019 revenue?") == ["nike", "fy2019", "2019", "revenue"]
    assert question_terms("FY21 and Q22023, 2023Q2 or FY23Q1") == [
        *("fy21", "2021", "q22023", "2023", "q2", "2023q2", "fy23q1", "q1")
    ]
    assert "generalmills" in asked_terms("What is General Mills' cash conversion cycle?")


def test_a_question_of_stop_words_alone_is_searched_by_them() -> None:
    assert search_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert search_terms("?!") == []


def test_an_embedder_that_reads_questions_apart_is_asked_as_such(
    library: Library, fill: Fill, open_library: OpenLibrary
) -> None:
    class Asked(HashEmbedder):
        """Reads every question as if it asked about willows."""

        def embed_question(self, text: str) -> NDArray[np.float32]:
            return self.embed(["willow"])[0]

    fill(library, "alpha", 12)
    library.close()
    with open_library("library", HashEmbedder()) as plain, open_library("library", Asked()) as apart:
        wanted = [found.chunk.id for found in plain.find(SearchQuery("willow", 3, mode="dense"))]
        assert [found.chunk.id for found in plain.find(SearchQuery("copper", 3, mode="dense"))] != wanted
        assert [found.chunk.id for found in apart.find(SearchQuery("copper", 3, mode="dense"))] == wanted


def test_a_question_of_a_figure_finds_the_lines_it_is_made_of(library: Library) -> None:
    document, data, chunks = make_document("alpha", 12)
    lines = "cash and equivalents, accounts receivable, total current liabilities"
    chunks[7] = replace(chunks[7], text=f"{chunks[7].text} {lines}")
    library.documents.add(document, data, chunks, np.tile(np.eye(1, 64, dtype=np.float32), (12, 1)))
    assert library.search("quick ratio", 1)[0].chunk.id == chunks[7].id
    assert library.find(SearchQuery("quick ratio", 1, mode="bm25")) == []


# Ranking: the weights do what they say, equal ones stay in order, and what is joined keeps what each search knew


def rows(dense: list[float], lexical: list[float] | None = None, pages: list[int] | None = None) -> Rows:
    count = len(dense)
    return Rows(
        numbers=np.arange(1, count + 1),
        documents=np.ones(count, np.int64),
        pages=np.array(pages or range(count)),
        dense=np.array(dense, np.float32),
        lexical=np.array(lexical or [0.0] * count, np.float32),
    )


def test_the_named_document_gains_by_the_rarity_of_its_name() -> None:
    order, score = rank(rows([0.5, 0.45]), 2, mode="hybrid", named=np.array([0, 2], np.float32))
    assert order.tolist() == [1, 0]
    assert score[1] == pytest.approx(0.45 + 2 * CARD_WEIGHT)


def test_a_page_gives_way_to_others_with_every_chunk_of_its_own() -> None:
    order, score = rank(rows([0.9, 0.89, 0.88, 0.85], pages=[1, 1, 1, 2]), 4, mode="hybrid")
    assert order.tolist() == [0, 3, 1, 2]
    assert score[2] == pytest.approx(0.88 - 2 * PAGE_DISCOUNT)


def test_each_mode_goes_by_its_own() -> None:
    both = rows([0.9, 0.1, 0.5], [0, 3, 1])
    assert rank(both, 3, mode="dense")[0].tolist() == [0, 2, 1]
    assert rank(both, 3, mode="bm25")[0].tolist() == [1, 2], "a chunk without a word of the question is none"


def test_decay_lowers_what_is_old_and_never_lifts_what_is_below_zero() -> None:
    decay = np.array([0.5, 1.0, 0.1], np.float32)
    _, score = rank(rows([0.8, 0.5, -0.2]), 3, mode="dense", decay=decay)
    assert score == pytest.approx([0.4, 0.5, -0.2])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 40))
def test_equal_ones_stand_in_the_order_they_were_added(levels: list[int], k: int) -> None:
    order = rank(rows([level / 4 for level in levels]), k, mode="dense")[0].tolist()
    assert order == sorted(range(len(levels)), key=lambda row: (-levels[row], row))[:k]


def test_joined_searches_keep_what_each_of_them_knew() -> None:
    nan = np.nan
    first = Candidates(np.array([7, 3]), np.array([nan, 0.5], np.float32), np.array([2, 0], np.float32))
    second = Candidates(np.array([3, 9, 7]), np.array([nan, 0.1, 0.4], np.float32), np.array([1, 0, 0], np.float32))
    both = join_candidates(first, second)
    assert both.numbers.tolist() == [3, 7, 9]
    assert both.dense == pytest.approx([0.5, 0.4, 0.1])
    assert both.lexical.tolist() == [1, 2, 0]


# The catalog: which documents a question names before others, and which of them a search may use


NOW = datetime(2026, 11, 1, tzinfo=UTC)


def catalog(*given: tuple[float, int]) -> Catalog:
    """Documents 10, 20, …, each with a confidence and an age in days."""
    documents: list[tuple[Document, dict[str, object]]] = []
    for at, (confidence, days) in enumerate(given):
        added = (NOW - timedelta(days=days)).isoformat()
        documents.append((make_document(f"doc{at}", confidence=confidence, added_at=added)[0], {}))
    numbers = np.arange(1, len(given) + 1) * 10
    return Catalog(library="x", generation=1, titles=TitleIndex(numbers), documents=documents)


def test_those_trusted_enough_are_searched_or_all() -> None:
    found = catalog((0.9, 0), (0.4, 0), (0.7, 0))
    assert found.allowed(EVERY, 0.7) is not None
    assert np.asarray(found.allowed(EVERY, 0.7)).tolist() == [10, 30]
    assert found.allowed(EVERY, 0.0) is None
    assert found.allowed(EVERY, 0.95) is None, "none is trusted so far"
    assert np.asarray(found.allowed(filter_of("confidence < 0.8"), 0.6)).tolist() == [30]
    assert np.asarray(found.allowed(filter_of("confidence < 0.8"), 0.75)).tolist() == [20, 30]
    with pytest.raises(FilterError, match="No document"):
        found.allowed(filter_of("confidence > 0.99"), 0.0)


def test_filters_that_clients_name_take_bounded_memory() -> None:
    found = catalog(*[(0.9, 0)] * 40)
    for number in range(400):
        assert len(np.asarray(found.allowed(filter_of(f"confidence > 0.{number:04}"), 0.0))) == 40
    assert found._meeting.cache_info().currsize == 32


def test_what_is_left_of_a_similarity_halves_every_half_life() -> None:
    assert catalog((1, 0), (1, 30), (1, 90)).decay(30, NOW) == pytest.approx([1, 0.5, 0.125])
    assert catalog((1, -5)).decay(30, NOW) == pytest.approx([1]), "a clock that was ahead makes nothing newer than now"
