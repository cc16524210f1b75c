"""Tavily's own client against a server that answers and fails as the real one does."""

from collections.abc import Iterator

import pytest

from crag.core.errors import KeyRejectedError, ProviderError, UnreachableError
from crag.core.errors import WebSearchError as Failed
from crag.core.types import Call
from crag.runtime.provider import WebParts
from crag.runtime.usage import UsageTracker
from crag.web.tavily import TAVILY
from tests.support.search_replies import COMETS, tavily, tavily_failure
from tests.support.searching_contract import KEY, KeyedContract, failure
from tests.support.web_server import Reply, Server, serving


class TestContract(KeyedContract):
    provider = TAVILY

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        return tavily(results)

    def refusal(self, said: str) -> Reply:
        return tavily_failure(401, said)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda request: tavily(COMETS)) as running:
        yield running


TAVILY_FAILURES = [
    (tavily_failure(400, "Query is too long"), Failed, "did not understand"),
    (tavily_failure(401), KeyRejectedError, "does not accept the key"),
    (tavily_failure(429), Failed, "no more searches"),
    (tavily_failure(500), Failed, "failed (status 500)"),
    (Reply(status=502, body=b"<html>Bad Gateway</html>"), Failed, "failed (status 502)"),
    (Reply(status=204), Failed, "can't be read"),
    (Reply(body=b"[" * 100_000), Failed, "can't be read"),
    (Reply(body=b"{}"), Failed, "no list of results"),
    (Reply(body=b'{"results": null}'), Failed, "no list of results"),
]


@pytest.mark.parametrize(("reply", "kind", "said"), TAVILY_FAILURES)
def test_every_failure_of_tavily_is_one_of_ours_with_a_remedy(
    server: Server, reply: Reply, kind: type[ProviderError], said: str
) -> None:
    server.answer = lambda request: reply
    calls: list[Call] = []
    found = failure(TAVILY.make(WebParts(meter=UsageTracker(listener=calls.append), key=KEY, address=server.address)))
    assert type(found) is kind and said in found.message
    assert found.message.endswith(".") and found.remedy.endswith(".")
    assert [call.error for call in calls] == [found.message]


def test_rows_of_tavily_with_missing_or_odd_fields_do_no_harm(server: Server) -> None:
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
    c, d = TAVILY.make(WebParts(meter=UsageTracker(), key=KEY, address=server.address)).search("comet", 9)
    assert (c.title, c.text, c.published) == ("https://c.example/", "Lone surrogate", None)
    assert (len(d.text), d.published) == (10_000, "2024-03-01")


def test_an_address_that_is_none_is_told_as_such() -> None:
    assert isinstance(
        failure(TAVILY.make(WebParts(meter=UsageTracker(), key=KEY, address="http://[::1"))), UnreachableError
    )
