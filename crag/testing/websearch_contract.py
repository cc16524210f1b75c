"""What every WebSearch keeps to. Inherit `WebSearchContract` and give a `web` fixture.

`web` must find at least two pages for `query` (a fixture too; by default "comet"), and none for a nonsense word.
"""

from __future__ import annotations

import pytest

from crag.core.protocols import WebSearch
from crag.core.types import WebPage


class WebSearchContract:
    """Pages come ranked from 1, within the limit, with the query they were found by, each once."""

    @pytest.fixture
    def query(self) -> str:
        return "comet"

    def test_pages_are_ranked_and_say_how_they_were_found(self, web: WebSearch, query: str) -> None:
        pages = web.search(query, 5)
        assert len(pages) >= 2
        assert [page.rank for page in pages] == list(range(1, len(pages) + 1))
        assert len({page.id for page in pages}) == len(pages)
        for page in pages:
            assert isinstance(page, WebPage)
            assert page.query == query
            assert page.provider == web.name
            assert page.url and page.title and page.text.strip()

    def test_at_most_so_many_pages_as_asked_for(self, web: WebSearch, query: str) -> None:
        pages = web.search(query, 5)
        assert web.search(query, 1) == pages[:1]

    def test_the_same_page_keeps_its_id(self, web: WebSearch, query: str) -> None:
        assert [page.id for page in web.search(query, 5)] == [page.id for page in web.search(query, 5)]

    def test_nothing_found_is_no_failure(self, web: WebSearch) -> None:
        assert web.search("zzqxjvkw", 5) == []

    @pytest.mark.parametrize(
        "odd", ['"', "NEAR(a b)", "title:x OR *", "' --", "AND OR NOT", "(", "comet\x00", "x" * 9_000]
    )
    def test_no_query_breaks_it(self, web: WebSearch, odd: str) -> None:
        assert isinstance(web.search(odd, 3), list)
