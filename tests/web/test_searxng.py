"""SearXNG's JSON API: its form, its refusals, and that a server on this machine is asked on purpose."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crag.core.errors import WebSearchError
from crag.core.protocols import WebSearch
from crag.core.types import Unread
from crag.runtime.usage import UsageTracker
from crag.web.searxng import SEARXNG
from tests.support.search_replies import COMETS
from tests.support.searching_contract import Made, SearchingContract
from tests.support.web_server import Reply, Server


def found(*results: Any, **more: Any) -> Reply:
    """A reply shaped as SearXNG's, results given as address, title and text, or as they are."""
    names = ("url", "title", "content")
    rows = [dict(zip(names, each, strict=True)) if isinstance(each, tuple) else each for each in results]
    body = {"query": "comet", "number_of_results": 0, "results": rows, "answers": [], "infoboxes": [], **more}
    return Reply(kind="application/json", body=json.dumps(body).encode())


NO_LIST = [b"<html>a page</html>", b"[]", b"{}", b'{"results": {}}', b"[" * 100_000, b"\xff"]


class TestSearxng(SearchingContract):
    provider = SEARXNG
    failures = (
        (Reply(status=403), WebSearchError, "as JSON", "search.formats"),
        (Reply(status=404), WebSearchError, "no SearXNG at this address", "address"),
        (Reply(status=429), WebSearchError, "no more searches", "limiter"),
        (Reply(status=500), WebSearchError, "failed (status 500)", "Settings"),
        *((Reply(body=body), WebSearchError, "", "") for body in NO_LIST),
    )

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return found(*results, unresponsive_engines=[])

    def test_it_is_asked_for_json_below_the_address_that_was_given(self, server: Server, made: Made) -> None:
        assert len(made(UsageTracker(), f"{server.address}/searx/").search("comet", 3)) == 3
        [request] = server.seen
        where = urlsplit(request.path)
        assert (request.method, where.path) == ("GET", "/searx/search")
        assert parse_qs(where.query) == {"q": ["comet"], "format": ["json"]}

    def test_without_results_the_engines_that_were_silent_are_named(self, server: Server, web: WebSearch) -> None:
        silent = [["brave", "too many requests"], ["google", "CAPTCHA"], "odd", []]
        server.answer = lambda request: found(unresponsive_engines=silent)
        assert web.search("comet", 3) == []
        assert web.problems == (Unread(why="SearXNG got no reply from brave, google."),)
        server.answer = lambda request: found(*COMETS, unresponsive_engines=silent)
        assert web.search("comet", 3) and web.problems == ()

    def test_odd_rows_do_no_harm(self, server: Server, web: WebSearch) -> None:
        rows = [None, 7, {}, {"url": 7, "content": "x"}, {"url": "https://a.example/", "content": None}]
        last = {"url": "https://b.example/", "title": 3, "content": "It came.", "publishedDate": "2024-03-01T00:00:00"}
        server.answer = lambda request: found(*rows, last)
        [page] = web.search("comet", 9)
        assert (page.url, page.title) == ("https://b.example/", "https://b.example/")
        assert page.published == last["publishedDate"]
