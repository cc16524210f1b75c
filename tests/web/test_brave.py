"""Brave Search: its form and limits, its failures, and that the key goes to it and nowhere else."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from crag.core.errors import KeyRejectedError, WebSearchError
from crag.core.protocols import WebSearch
from crag.runtime.provider import WebParts
from crag.runtime.usage import UsageTracker
from crag.web.brave import BRAVE, MOST_WORDS
from tests.support.search_replies import COMETS
from tests.support.searching_contract import KEY, KeyedContract, failure
from tests.support.web_server import Reply, Server, serving


def found(*results: Any) -> Reply:
    """A reply shaped as Brave's; without results it has no part for the web at all."""
    names = ("url", "title", "description")
    rows = [dict(zip(names, each, strict=True)) if isinstance(each, tuple) else each for each in results]
    web = {"web": {"type": "search", "results": rows, "family_friendly": True}} if rows else {}
    body = {"type": "search", "query": {"original": "comet", "more_results_available": False}, "mixed": {}, **web}
    return Reply(kind="application/json", body=json.dumps(body).encode())


def refused(status: int, code: str = "", detail: str = "no") -> Reply:
    error = {"id": "1", "status": status, "code": code, "detail": detail, "meta": {}}
    body = json.dumps({"type": "ErrorResponse", "error": error, "time": 0}).encode()
    return Reply(status=status, kind="application/json", body=body)


class TestContract(KeyedContract):
    provider, most_words = BRAVE, MOST_WORDS

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return found(*results)

    def refusal(self, said: str) -> Reply:
        return refused(422, "SUBSCRIPTION_TOKEN_INVALID", said)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda request: found(*COMETS)) as running:
        yield running


def made(server: Server) -> WebSearch:
    return BRAVE.make(WebParts(meter=UsageTracker(), key=KEY, address=server.address))


def test_it_is_asked_with_the_token_for_no_more_than_it_gives(server: Server) -> None:
    made(server).search("comet", 100)
    [request] = server.seen
    where = urlsplit(request.path)
    assert (request.method, where.path) == ("GET", "/res/v1/web/search")
    assert parse_qs(where.query) == {"q": ["comet"], "count": ["20"], "text_decorations": ["false"]}
    assert request.headers["X-Subscription-Token"] == KEY.get_secret_value()


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (refused(401), KeyRejectedError, "does not accept the key"),
        (refused(422, "SUBSCRIPTION_TOKEN_INVALID"), KeyRejectedError, "does not accept the key"),
        (refused(422, "VALIDATION"), WebSearchError, "did not understand"),
        (refused(403, "RESOURCE_NOT_ALLOWED"), WebSearchError, "plan"),
        (refused(429, "RATE_LIMITED"), WebSearchError, "no more searches"),
        (refused(500), WebSearchError, "failed (status 500)"),
        (Reply(body=b"<html>"), WebSearchError, "can't be read"),
        (Reply(body=b"[]"), WebSearchError, "no list of results"),
    ],
)
def test_every_failure_is_one_of_ours_with_a_remedy(server: Server, reply: Reply, kind: type, said: str) -> None:
    server.answer = lambda request: reply
    error = failure(made(server))
    assert type(error) is kind and said in error.message and error.remedy.endswith(".")


def test_signs_written_for_a_page_are_read_and_odd_rows_do_no_harm(server: Server) -> None:
    row = {
        "url": "https://a.example/",
        "title": "Halley&#x27;s",
        "description": "&lt;b&gt;It&lt;/b&gt; came &amp; went.",
    }
    server.answer = lambda request: found(None, 7, {}, {"url": 7}, {**row, "page_age": "2024-03-01T00:00:00"})
    [page] = made(server).search("comet", 9)
    assert (page.title, page.text) == ("Halley's", "It came & went.")
    assert page.published == "2024-03-01T00:00:00"
