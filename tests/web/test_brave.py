"""Brave Search: its form and limits, its failures, and that the key goes to it and nowhere else."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crag.core.errors import KeyRejectedError, WebSearchError
from crag.core.protocols import WebSearch
from crag.web.brave import BRAVE, MOST_WORDS
from tests.support.searching_contract import KEY, KeyedContract
from tests.support.web_server import Reply, Server


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


class TestBrave(KeyedContract):
    provider, most_words = BRAVE, MOST_WORDS
    failures = (
        (refused(401), KeyRejectedError, "does not accept the key", ""),
        (refused(422, "SUBSCRIPTION_TOKEN_INVALID"), KeyRejectedError, "does not accept the key", ""),
        (refused(422, "VALIDATION"), WebSearchError, "did not understand", ""),
        (refused(403, "RESOURCE_NOT_ALLOWED"), WebSearchError, "plan", ""),
        (refused(429, "RATE_LIMITED"), WebSearchError, "no more searches", ""),
        (refused(500), WebSearchError, "failed (status 500)", ""),
        (Reply(body=b"<html>"), WebSearchError, "can't be read", ""),
        (Reply(body=b"[]"), WebSearchError, "no list of results", ""),
    )

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return found(*results)

    def refusal(self, said: str) -> Reply:
        return refused(422, "SUBSCRIPTION_TOKEN_INVALID", said)

    def test_it_is_asked_with_the_token_for_no_more_than_it_gives(self, server: Server, web: WebSearch) -> None:
        web.search("comet", 100)
        [request] = server.seen
        where = urlsplit(request.path)
        assert (request.method, where.path) == ("GET", "/res/v1/web/search")
        assert parse_qs(where.query) == {"q": ["comet"], "count": ["20"], "text_decorations": ["false"]}
        assert request.headers["X-Subscription-Token"] == KEY.get_secret_value()

    def test_signs_written_for_a_page_are_read_and_odd_rows_do_no_harm(self, server: Server, web: WebSearch) -> None:
        row = {
            "url": "https://a.example/",
            "title": "Halley&#x27;s",
            "description": "&lt;b&gt;It&lt;/b&gt; came &amp; went.",
        }
        server.answer = lambda request: found(None, 7, {}, {"url": 7}, {**row, "page_age": "2024-03-01T00:00:00"})
        [page] = web.search("comet", 9)
        assert (page.title, page.text) == ("Halley's", "It came & went.")
        assert page.published == "2024-03-01T00:00:00"
