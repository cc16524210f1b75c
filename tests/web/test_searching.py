"""What both web providers do, and Tavily's own client against a server that answers and fails as the real one does."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from pydantic import SecretStr

from crag.core.errors import BudgetError, CancelledError, KeyRejectedError, ProviderError, UnreachableError
from crag.core.errors import WebSearchError as Failed
from crag.core.meter import Budget, Call, Meter
from crag.core.outgoing import MAX_QUERY, outgoing
from crag.core.protocols import WebSearch
from crag.testing.websearch_contract import WebSearchContract
from crag.web.fetching import PageFetcher
from crag.web.searching import DuckDuckGoSearch, TavilySearch
from tests.support.search_replies import COMETS, duckduckgo, duckduckgo_none, query_of, tavily, tavily_failure
from tests.support.web_server import Reply, Request, Server, serving

KEY = SecretStr("tvly-secret-of-the-tests")
NOWHERE = "http://127.0.0.1:9"


def usual(request: Request) -> Reply:
    """Eight pages on comets, nothing on anything else; in the protocol that the request is in."""
    asked = "comet" in query_of(request)
    if request.path == "/search":
        return tavily(COMETS if asked else [])
    return duckduckgo(COMETS) if asked else duckduckgo_none()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving(usual) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.anew(usual)
    return running


Made = Callable[..., TavilySearch | DuckDuckGoSearch]


@pytest.fixture(params=["tavily", "duckduckgo"])
def made(request: pytest.FixtureRequest, server: Server) -> Made:
    """Either provider, at the loopback server unless told otherwise."""
    kind = partial(TavilySearch, KEY) if request.param == "tavily" else DuckDuckGoSearch
    return partial(kind, base_url=server.address)


def one(provider: str, *results: tuple[str, str, str]) -> Reply:
    return tavily(results) if provider == "tavily" else duckduckgo(results)


def failure(web: WebSearch) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        web.search("comet", 3)
    return caught.value


class TestContract(WebSearchContract):
    @pytest.fixture
    def web(self, made: Made) -> WebSearch:
        return made(Meter())


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("comet of 1910", "comet of 1910"),
        (" comet  of\n1910\t", "comet of 1910"),
        ("comet\x00 \x1b[31m1910\x85", "comet [31m1910"),
        ("comet \ud800 1910", "comet 1910"),
        ('"comet" & ünï=%20+#?;☄', '"comet" & ünï=%20+#?;☄'),
        ("comet " * 1000, ("comet " * 1000)[:MAX_QUERY].strip()),
    ],
)
def test_what_is_sent_is_what_the_pages_say_was_asked(made: Made, server: Server, query: str, sent: str) -> None:
    pages = made(Meter()).search(query, 3)
    [request] = server.seen
    assert query_of(request) == sent == outgoing(query) and len(sent) <= MAX_QUERY
    assert {page.query for page in pages} == {sent}


@pytest.mark.parametrize("query", ["", "  \n\t ", "\x00\x07", "\ud800"])
def test_a_query_of_nothing_is_not_sent(made: Made, server: Server, query: str) -> None:
    calls: list[Call] = []
    assert made(Meter(listener=calls.append)).search(query, 3) == []
    assert server.seen == [] and calls == []


def test_a_search_is_one_call_on_the_meter(made: Made) -> None:
    calls: list[Call] = []
    meter = Meter(Budget(calls=2), listener=calls.append)
    meter.step = "search"
    made(meter).search("comet", 3)
    found = failure(made(meter, base_url=NOWHERE))
    name = made(meter).name
    assert [(call.step, call.provider, call.error) for call in calls] == [
        ("search", name, None),
        ("search", name, found.message),
    ]
    assert all(0 < call.seconds < 60 and call.input_tokens is None for call in calls)
    with pytest.raises(BudgetError):
        made(meter).search("comet", 3)
    assert len(calls) == 2


def test_stop_ends_a_search_that_hangs(made: Made, server: Server) -> None:
    cancel, calls = threading.Event(), list[Call]()

    def answer(request: Request) -> Reply:
        cancel.set()
        return Reply(ends="hang")

    server.answer = answer
    with pytest.raises(CancelledError):
        made(Meter(cancel=cancel, listener=calls.append), seconds=20).search("comet", 3)
    assert [call.error for call in calls] == ["The run was stopped."]


@pytest.mark.parametrize("ends", ["hang", "drip"])
def test_a_search_without_end_is_given_up(made: Made, server: Server, ends: str) -> None:
    server.answer = lambda request: Reply(ends=ends)  # type: ignore[arg-type]
    found = failure(made(Meter(), seconds=0.3))
    assert isinstance(found, UnreachableError) and "did not reply in time" in found.message
    assert isinstance(failure(made(Meter(Budget(seconds=0.3)))), UnreachableError)


def test_a_refused_or_broken_connection_is_told(made: Made, server: Server) -> None:
    found = failure(made(Meter(), base_url=NOWHERE))
    assert isinstance(found, UnreachableError) and "can't be reached" in found.message
    whole = server.answer
    for ends in ("cut", "closed"):
        server.answer = lambda request, ends=ends: Reply(kind="text/html", body=whole(request).body, ends=ends)  # type: ignore[misc]
        found = failure(made(Meter()))
        assert isinstance(found, UnreachableError) and "broke off" in found.message


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_with_query_or_key(made: Made, server: Server, status: int) -> None:
    with serving(lambda request: Reply(body=b"caught")) as other:
        server.answer = lambda request: Reply(status=status, headers={"Location": f"{other.address}/elsewhere"})
        assert str(status) in failure(made(Meter())).message
        assert len(server.seen) == 1 and other.seen == []


HOSTILE = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    "//",
    "http://",
    "http://[::1",
    "https://user:secret@example.org/",
    "https://<script>alert(1)</script>/",
    "https://example.org/" + "x" * 3000,
    "not an address",
    "",
]


@pytest.mark.parametrize("url", HOSTILE)
def test_what_is_no_address_of_the_web_is_left_out(made: Made, server: Server, url: str) -> None:
    name = made(Meter()).name
    server.answer = lambda request: one(name, (url, "Bad", "A comet."), COMETS[0])
    assert [page.url for page in made(Meter()).search("comet", 5)] == [COMETS[0][0]]


def test_markup_and_unseen_characters_of_results_are_taken_out(made: Made, server: Server) -> None:
    title = "<script>alert(1)</script>The <b>comet</b> <img src=x onerror=alert(1)"
    text = "1 < 2 <scr<b>ipt>and\u202e <a href='javascript:x'>Halley</a>"
    name = made(Meter()).name
    server.answer = lambda request: one(name, ('https://example.org/"><script>?a=1&b=2', title, text))
    [page] = made(Meter()).search("comet", 5)
    assert page.url == "https://example.org/%22%3E%3Cscript%3E?a=1&b=2"
    assert "comet" in page.title and "Halley" in page.text
    shown = page.title + page.text
    assert not any(bad in shown for bad in ("<script", "<img", "<a", "<b", "</", "\u202e"))


def test_each_address_once_and_never_more_than_asked_for(made: Made, server: Server) -> None:
    name = made(Meter()).name
    twice = [COMETS[0], (COMETS[0][0], "Again", "The same comet."), (COMETS[0][0] + "#tail", "Part", "Its tail.")]
    server.answer = lambda request: one(name, *twice, *COMETS)
    assert [page.url for page in made(Meter()).search("comet", 3)] == [each[0] for each in COMETS[:3]]
    assert made(Meter()).search("comet", 0) == []


def test_pages_behind_results_are_read_and_those_that_are_not_are_named(made: Made, server: Server) -> None:
    def answer(request: Request) -> Reply:
        if request.method == "POST":
            return one(name, (f"{server.address}/good", "Good", "Short."), (f"{server.address}/bad?k=v", "B", "Words."))
        found = request.path == "/good"
        return Reply(status=200 if found else 404, body=b"<p>The comet came back in 1910, says the whole page.</p>")

    name, server.answer = made(Meter()).name, answer
    web = made(Meter(), PageFetcher(allow_private=True))
    good, bad = web.search("comet", 5)
    assert good.fetched and "whole page" in good.text
    assert not bad.fetched and bad.text == "Words."
    assert web.problems == ("127.0.0.1 was not read: the server said 404.",)
    assert made(Meter()).id != web.id
    server.answer = lambda request: Reply(status=500)
    failure(web)
    assert web.problems == (), "they are those of the last search"


TAVILY_FAILURES = [
    (tavily_failure(400, "Query is too long"), Failed, "did not understand"),
    (tavily_failure(401), KeyRejectedError, "does not accept the key"),
    (tavily_failure(403), Failed, "refused"),
    (tavily_failure(429), Failed, "no more searches"),
    (tavily_failure(432), Failed, "refused"),
    (tavily_failure(433), Failed, "refused"),
    (tavily_failure(500), Failed, "failed (status 500)"),
    (tavily_failure(503), Failed, "failed (status 503)"),
    (Reply(status=502, body=b"<html>Bad Gateway</html>"), Failed, "failed (status 502)"),
    (Reply(status=204), Failed, "can't be read"),
    (Reply(body=b"<html>not json</html>"), Failed, "can't be read"),
    (Reply(body=b""), Failed, "can't be read"),
    (Reply(body=b"[" * 100_000), Failed, "can't be read"),
    (Reply(body=b"\xff\xfe\x00"), Failed, "can't be read"),
    (Reply(body=b"[1]"), Failed, "can't be read"),
    (Reply(body=b"{}"), Failed, "no list of results"),
    (Reply(body=b'{"results": {"0": 1}}'), Failed, "no list of results"),
    (Reply(body=b'{"results": null}'), Failed, "no list of results"),
]


@pytest.mark.parametrize(("reply", "kind", "said"), TAVILY_FAILURES)
def test_every_failure_of_tavily_is_one_of_ours_with_a_remedy(
    server: Server, reply: Reply, kind: type[ProviderError], said: str
) -> None:
    server.answer = lambda request: reply
    calls: list[Call] = []
    found = failure(TavilySearch(KEY, Meter(listener=calls.append), base_url=server.address))
    assert type(found) is kind and said in found.message
    assert found.message.endswith(".") and found.remedy.endswith(".")
    assert [call.error for call in calls] == [found.message]


def test_the_key_goes_to_tavily_and_nowhere_else(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = KEY.get_secret_value()
    told: list[Call] = []
    web = TavilySearch(SecretStr(f" {secret}\n"), Meter(listener=told.append), base_url=server.address)
    web.search("comet", 2)
    assert [request.headers["Authorization"] for request in server.seen] == [f"Bearer {secret}"]
    server.answer = lambda request: tavily_failure(401, f"Incorrect API key: {secret}")
    found = failure(web)
    whole = "".join(traceback.format_exception(found))
    assert secret not in f"{found} {whole} {told} {web!r} {caplog.text}"


@pytest.mark.parametrize("key", ["", " \n", "tvly-\u20ac", "tvly-a b", "tvly-a\r\nX-Other: b", "tvly-\x00"])
def test_what_can_be_no_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(KeyRejectedError) as caught:
        TavilySearch(SecretStr(key), Meter())
    assert "tvly" not in str(caught.value)


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
    c, d = TavilySearch(KEY, Meter(), base_url=server.address).search("comet", 9)
    assert (c.title, c.text, c.published) == ("https://c.example/", "Lone  surrogate", None)
    assert (len(d.text), d.published) == (10_000, "2024-03-01")


def test_an_address_that_is_none_is_told_as_such() -> None:
    assert isinstance(failure(TavilySearch(KEY, Meter(), base_url="http://[::1")), UnreachableError)
