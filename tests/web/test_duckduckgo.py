"""DuckDuckGo through ddgs' own engine and client, against a server whose pages are shaped as the real ones are."""

from urllib.parse import parse_qs

import pytest
from ddgs.engines.duckduckgo import Duckduckgo

from crag.core.errors import WebSearchError
from crag.core.protocols import WebSearch
from crag.core.types import Unread
from crag.web.duckduckgo import DUCKDUCKGO
from crag.web.duckduckgo_page import ADDRESS, MAX_BYTES, _Engine, translate_error
from tests.support.search_replies import COMETS, duckduckgo, duckduckgo_none, duckduckgo_puzzle
from tests.support.searching_contract import SearchingContract
from tests.support.web_server import Reply, Server
from tests.support.work import takes_longer

UNSURE = Unread(why="DuckDuckGo gave no results: there are none, or it refused the search.")


class TestDuckDuckGo(SearchingContract):
    provider = DUCKDUCKGO
    failures = (
        (duckduckgo_puzzle(202), WebSearchError, "refused the search", "Settings"),
        (duckduckgo_puzzle(200), WebSearchError, "refused the search", "Settings"),
        (Reply(status=429, body=b"Too many requests"), WebSearchError, "refused the search", "Settings"),
        (Reply(status=400), WebSearchError, "failed (status 400)", "Settings"),
        (Reply(status=500, body=b"<html>DuckDuckGo</html>"), WebSearchError, "failed (status 500)", "Settings"),
        (Reply(body=bytes(range(256)) * 20), WebSearchError, "no page of DuckDuckGo's", "Settings"),
        (
            Reply(body=b"<html>Welcome to the hotel. Log in to use its network.</html>"),
            WebSearchError,
            "no page of DuckDuckGo's",
            "Settings",
        ),
    )

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return duckduckgo(results) if results else duckduckgo_none()

    def test_results_become_pages_in_the_order_of_the_page(self, server: Server, web: WebSearch) -> None:
        pages = web.search("comet", 3)
        assert [(page.url, page.title, page.text) for page in pages] == COMETS[:3]
        assert web.problems == ()
        [request] = server.seen
        assert (request.method, request.path) == ("POST", "/html/")
        assert parse_qs(request.body.decode())["q"] == ["comet"]

    @pytest.mark.parametrize(
        ("href", "url"),
        [
            (
                "//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fa%3Fb%3D1%26c%3D2&rut=0a",
                "https://example.org/a?b=1&c=2",
            ),
            ("https://example.org/C%23/What%3F%20now%2Fthen", "https://example.org/C%23/What%3F%20now%2Fthen"),
            ("https://example.org/a b", "https://example.org/a%20b"),
            ("https://duckduckgo.com/y.js?ad_domain=shop.example&u3=x", None),
            ("//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Dshop.example", None),
            ("//duckduckgo.com/l/?uddg=javascript%3Aalert(1)", None),
            ("//duckduckgo.com/l/?uddg=http%3A%2F%2F%5B", None),
        ],
    )
    def test_links_lead_where_they_lead_in_the_end(
        self, server: Server, web: WebSearch, href: str, url: str | None
    ) -> None:
        server.answer = lambda request: duckduckgo([(href, "Linked", "A comet."), COMETS[0]])
        assert [page.url for page in web.search("comet", 5)] == ([url] if url else []) + [COMETS[0][0]]

    @pytest.mark.parametrize(
        "body", [b"<html><title>DuckDuckGo</title></html>", b"DuckDuckGo", b"duckduckgo \x00\xff<<<"]
    )
    def test_a_page_without_results_that_says_nothing_of_it_is_not_taken_for_none(
        self, server: Server, web: WebSearch, body: bytes
    ) -> None:
        server.answer = lambda request: Reply(body=body)
        assert web.search("comet", 3) == []
        assert web.problems == (UNSURE,)
        server.answer = lambda request: duckduckgo_none()
        assert web.search("zzqx", 3) == [] and web.problems == ()

    def test_a_page_that_breaks_its_reader_is_said_to_be_unreadable(self, server: Server, web: WebSearch) -> None:
        server.answer = lambda request: Reply(body=b'<?xml version="1.0" encoding="utf-8"?><html>DuckDuckGo</html>')
        assert web.search("comet", 3) == [] and web.problems == (UNSURE,), (
            "a declaration, at which lxml stops, does not"
        )
        assert "can't be read" in translate_error(ValueError("whatever it may be")).message


def test_the_engines_own_address_is_the_one_used_by_default() -> None:
    assert f"{ADDRESS}/html/" == Duckduckgo.search_url


@pytest.mark.parametrize(
    "page",
    [
        "<p" + "".join(f" a{number}=1" for number in range(90_000)) + ">",
        "<div class=body><h2>a " * 40_000,
        "<div class=body><h2>a</h2><a href=/x>b</a></div>" * 20_000,
    ],
    ids=["attributes", "nested", "results"],
)
def test_a_hostile_page_of_results_is_read_within_a_bound(page: str) -> None:
    assert not takes_longer(3, _Engine().read, f"<html>duckduckgo {page}"[:MAX_BYTES])
