"""Tavily's own client against a server that answers and fails as the real one does."""

from crag.core.errors import KeyRejectedError, UnreachableError
from crag.core.errors import WebSearchError as Failed
from crag.core.protocols import WebSearch
from crag.runtime.usage import UsageTracker
from crag.web.tavily import TAVILY
from tests.support.search_replies import tavily, tavily_failure
from tests.support.searching_contract import KeyedContract, Made, failure
from tests.support.web_server import Reply, Server


class TestTavily(KeyedContract):
    provider = TAVILY
    failures = (
        (tavily_failure(400, "Query is too long"), Failed, "did not understand", ""),
        (tavily_failure(401), KeyRejectedError, "does not accept the key", ""),
        (tavily_failure(429), Failed, "no more searches", ""),
        (tavily_failure(500), Failed, "failed (status 500)", ""),
        (Reply(status=502, body=b"<html>Bad Gateway</html>"), Failed, "failed (status 502)", ""),
        (Reply(status=204), Failed, "can't be read", ""),
        (Reply(body=b"[" * 100_000), Failed, "can't be read", ""),
        (Reply(body=b"{}"), Failed, "no list of results", ""),
        (Reply(body=b'{"results": null}'), Failed, "no list of results", ""),
    )

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return tavily(results)

    def refusal(self, said: str) -> Reply:
        return tavily_failure(401, said)

    def test_rows_with_missing_or_odd_fields_do_no_harm(self, server: Server, web: WebSearch) -> None:
        odd = [
            None,
            7,
            [],
            {},
            {"url": 7, "content": "x"},
            {"url": "https://a.example/", "content": None},
            {"url": "https://b.example/", "content": {"a": 1}},
            {"url": "https://c.example/", "title": ["x"], "content": "Lone \ud800 surrogate", "published_date": 3},
            {"url": "https://d.example/", "title": "D", "content": "x" * 50_000, "published_date": "2024-03-01"},
        ]
        server.answer = lambda request: tavily(odd, answer={"odd": 1})
        c, d = web.search("comet", 9)
        assert (c.title, c.text, c.published) == ("https://c.example/", "Lone surrogate", None)
        assert (len(d.text), d.published) == (10_000, "2024-03-01")

    def test_an_address_that_is_none_is_told_as_such(self, made: Made) -> None:
        assert isinstance(failure(made(UsageTracker(), "http://[::1")), UnreachableError)
