"""SearXNG's JSON API: its form, its refusals, and that a server on this machine is asked on purpose."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from crag.core.errors import WebSearchError
from crag.core.protocols import WebSearch
from crag.core.types import Unread
from crag.runtime.provider import WebParts
from crag.runtime.usage import UsageTracker
from crag.web.searxng import SEARXNG
from tests.support.search_replies import COMETS
from tests.support.searching_contract import SearchingContract, failure
from tests.support.web_server import Reply, Server, serving


def found(*results: Any, **more: Any) -> Reply:
    """A reply shaped as SearXNG's, results given as address, title and text, or as they are."""
    names = ("url", "title", "content")
    rows = [dict(zip(names, each, strict=True)) if isinstance(each, tuple) else each for each in results]
    body = {"query": "comet", "number_of_results": 0, "results": rows, "answers": [], "infoboxes": [], **more}
    return Reply(kind="application/json", body=json.dumps(body).encode())


class TestContract(SearchingContract):
    provider = SEARXNG

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return found(*results, unresponsive_engines=[])


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda request: found(*COMETS)) as running:
        yield running


def made(address: str) -> WebSearch:
    return SEARXNG.make(WebParts(meter=UsageTracker(), address=address))


def test_it_is_asked_for_json_below_the_address_that_was_given(server: Server) -> None:
    assert len(made(f"{server.address}/searx/").search("comet", 3)) == 3
    [request] = server.seen
    where = urlsplit(request.path)
    assert (request.method, where.path) == ("GET", "/searx/search")
    assert parse_qs(where.query) == {"q": ["comet"], "format": ["json"]}


@pytest.mark.parametrize(
    ("status", "said", "remedy"),
    [
        (403, "as JSON", "search.formats"),
        (404, "no SearXNG at this address", "address"),
        (429, "no more searches", "limiter"),
        (500, "failed (status 500)", "Settings"),
    ],
)
def test_each_refusal_says_what_to_do_on_the_server(server: Server, status: int, said: str, remedy: str) -> None:
    server.answer = lambda request: Reply(status=status)
    error = failure(made(server.address))
    assert said in error.message and remedy in error.remedy


@pytest.mark.parametrize("body", [b"<html>a page</html>", b"[]", b"{}", b'{"results": {}}', b"[" * 100_000, b"\xff"])
def test_what_is_no_list_of_results_is_told(server: Server, body: bytes) -> None:
    server.answer = lambda request: Reply(body=body)
    assert isinstance(failure(made(server.address)), WebSearchError)


def test_without_results_the_engines_that_were_silent_are_named(server: Server) -> None:
    silent = [["brave", "too many requests"], ["google", "CAPTCHA"], "odd", []]
    web = made(server.address)
    server.answer = lambda request: found(unresponsive_engines=silent)
    assert web.search("comet", 3) == [] and web.problems == (Unread(why="SearXNG got no reply from brave, google."),)
    server.answer = lambda request: found(*COMETS, unresponsive_engines=silent)
    assert web.search("comet", 3) and web.problems == ()


def test_odd_rows_do_no_harm(server: Server) -> None:
    rows = [None, 7, {}, {"url": 7, "content": "x"}, {"url": "https://a.example/", "content": None}]
    last = {"url": "https://b.example/", "title": 3, "content": "It came.", "publishedDate": "2024-03-01T00:00:00"}
    server.answer = lambda request: found(*rows, last)
    [page] = made(server.address).search("comet", 9)
    assert (page.url, page.title, page.published) == ("https://b.example/", "https://b.example/", last["publishedDate"])
