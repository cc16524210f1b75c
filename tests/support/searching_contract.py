"""What every provider that searches the web keeps to, against a loopback server. Inherit `SearchingContract`.

Give the provider's record, its server's reply with some results, and the replies that are failures: it is asked, cut
off, redirected and lied to.
"""

import logging
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence

import pytest
from pydantic import SecretStr

from crag.core.errors import BudgetError, CancelledError, KeyRejectedError, ProviderError, UnreachableError
from crag.core.protocols import PageReader, WebSearch
from crag.core.types import Call, Unread
from crag.runtime.provider import WebParts, WebProvider
from crag.runtime.usage import Budget, UsageTracker
from crag.testing.contracts import WebSearchContract
from crag.testing.fakes import FakeClock
from crag.web.fetching import PageFetcher
from crag.web.searching import MAX_QUERY
from tests.support.search_replies import COMETS, query_of
from tests.support.web_server import Reply, Request, Server, serving

KEY = SecretStr("key-of-the-tests")
NOWHERE = "http://127.0.0.1:9"
Made = Callable[..., WebSearch]

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


def failure(web: WebSearch) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        web.search("comet", 3)
    return caught.value


class SearchingContract(WebSearchContract):
    """`provider` is made at a server that finds eight pages on comets, and nothing on anything else."""

    provider: WebProvider
    most_words = MAX_QUERY
    failures: Sequence[tuple[Reply, type[ProviderError], str, str]]
    """Replies, and what each is told as: the kind, and words of the message and of the remedy."""

    def reply(self, *results: tuple[str, str, str]) -> Reply:
        """What its server sends: address, title and text of each result."""
        raise NotImplementedError

    def usual(self, request: Request) -> Reply:
        return self.reply(*(COMETS if "comet" in query_of(request) else ()))

    @pytest.fixture(scope="class")
    @classmethod
    def running(cls) -> Iterator[Server]:
        with serving(lambda request: Reply()) as server:
            yield server

    @pytest.fixture
    def server(self, running: Server) -> Server:
        running.anew(self.usual)
        return running

    @pytest.fixture
    def made(self, server: Server) -> Made:
        """The provider at the loopback server, unless told otherwise."""

        def made(meter: UsageTracker, address: str = "", fetcher: PageReader | None = None) -> WebSearch:
            parts = WebParts(meter=meter, key=KEY, address=address or server.address, fetcher=fetcher)
            return self.provider.make(parts)

        return made

    @pytest.fixture
    def web(self, made: Made) -> WebSearch:
        return made(UsageTracker())

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
    def test_what_is_sent_is_what_was_asked(self, made: Made, server: Server, query: str, sent: str) -> None:
        pages = made(UsageTracker()).search(query, 3)
        [request] = server.seen
        sent = " ".join(sent.split()[: self.most_words])
        assert query_of(request) == sent and len(sent) <= MAX_QUERY
        assert {page.query for page in pages} == {sent}

    @pytest.mark.parametrize("query", ["", "  \n\t ", "\x00\x07", "\ud800"])
    def test_a_query_of_nothing_is_not_sent(self, made: Made, server: Server, query: str) -> None:
        calls: list[Call] = []
        assert made(UsageTracker(listener=calls.append)).search(query, 3) == []
        assert server.seen == [] and calls == []

    def test_a_search_is_one_call_on_the_meter(self, made: Made) -> None:
        calls: list[Call] = []
        meter = UsageTracker(Budget(calls=2), listener=calls.append)
        meter.step = "search"
        made(meter).search("comet", 3)
        found = failure(made(meter, NOWHERE))
        name = made(meter).name
        assert [(call.step, call.provider, call.error) for call in calls] == [
            ("search", name, None),
            ("search", name, found.message),
        ]
        assert all(0 < call.seconds < 60 and call.input_tokens is None for call in calls)
        with pytest.raises(BudgetError):
            made(meter).search("comet", 3)
        assert len(calls) == 2

    def test_stop_ends_a_search_that_hangs(self, made: Made, server: Server) -> None:
        cancel, calls = threading.Event(), list[Call]()

        def answer(request: Request) -> Reply:
            cancel.set()
            return Reply(ends="hang")

        server.answer = answer
        with pytest.raises(CancelledError):
            made(UsageTracker(cancel=cancel, listener=calls.append)).search("comet", 3)
        assert [call.error for call in calls] == ["The run was stopped."]

    @pytest.mark.parametrize("ends", ["hang", "drip"])
    def test_a_search_without_end_is_given_up(self, made: Made, server: Server, ends: str) -> None:
        clock = FakeClock()

        def answer(request: Request) -> Reply:
            clock.hangs.set()
            return Reply(ends=ends)  # type: ignore[arg-type]

        server.answer = answer
        found = failure(made(UsageTracker(clock=clock)))
        assert isinstance(found, UnreachableError) and "did not reply in time" in found.message

    def test_a_refused_or_broken_connection_is_told(self, made: Made, server: Server) -> None:
        found = failure(made(UsageTracker(), NOWHERE))
        assert isinstance(found, UnreachableError) and "can't be reached" in found.message
        whole = server.answer
        for ends in ("cut", "closed"):
            server.answer = lambda request, ends=ends: Reply(kind="text/html", body=whole(request).body, ends=ends)  # type: ignore[misc]
            found = failure(made(UsageTracker()))
            assert isinstance(found, UnreachableError) and "broke off" in found.message

    def test_every_failure_is_one_of_ours_with_a_remedy(self, made: Made, server: Server) -> None:
        for reply, kind, said, remedy in self.failures:
            server.anew(lambda request, reply=reply: reply)  # type: ignore[misc]
            calls: list[Call] = []
            found = failure(made(UsageTracker(listener=calls.append)))
            assert type(found) is kind and said in found.message and remedy in found.remedy, reply
            assert found.message.endswith(".") and found.remedy.endswith(".")
            assert [call.error for call in calls] == [found.message]
            assert len(server.seen) == 1

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_a_redirect_is_not_followed_with_query_or_key(self, made: Made, server: Server, status: int) -> None:
        with serving(lambda request: Reply(body=b"caught")) as other:
            server.answer = lambda request: Reply(status=status, headers={"Location": f"{other.address}/elsewhere"})
            assert str(status) in failure(made(UsageTracker())).message
            assert len(server.seen) == 1 and other.seen == []

    def test_what_is_no_address_of_the_web_is_left_out(self, made: Made, server: Server) -> None:
        server.answer = lambda request: self.reply(*((url, "Bad", "A comet.") for url in HOSTILE), COMETS[0])
        assert [page.url for page in made(UsageTracker()).search("comet", 20)] == [COMETS[0][0]]

    def test_markup_and_unseen_characters_of_results_are_taken_out(self, made: Made, server: Server) -> None:
        title = "<script>alert(1)</script>The <b>comet</b> <img src=x onerror=alert(1)"
        text = "1 < 2 <scr<b>ipt>and\u202e <a href='javascript:x'>Halley</a>"
        server.answer = lambda request: self.reply(('https://example.org/"><script>?a=1&b=2', title, text))
        [page] = made(UsageTracker()).search("comet", 5)
        assert page.url == "https://example.org/%22%3E%3Cscript%3E?a=1&b=2"
        assert "comet" in page.title and "Halley" in page.text
        shown = page.title + page.text
        assert not any(bad in shown for bad in ("<script", "<img", "<a", "<b", "</", "\u202e"))

    def test_each_address_once_and_never_more_than_asked_for(self, made: Made, server: Server) -> None:
        twice = [COMETS[0], (COMETS[0][0], "Again", "The same comet."), (COMETS[0][0] + "#tail", "Part", "Its tail.")]
        server.answer = lambda request: self.reply(*twice, *COMETS)
        assert [page.url for page in made(UsageTracker()).search("comet", 3)] == [each[0] for each in COMETS[:3]]
        assert made(UsageTracker()).search("comet", 0) == []

    def test_pages_behind_results_are_read_and_those_that_are_not_are_named(self, made: Made, server: Server) -> None:
        def answer(request: Request) -> Reply:
            if not request.path.startswith(("/good", "/bad")):
                return self.reply(
                    (f"{server.address}/good", "Good", "Short."), (f"{server.address}/bad?k=v", "B", "Words.")
                )
            found = request.path == "/good"
            return Reply(status=200 if found else 404, body=b"<p>The comet came back in 1910, says the whole page.</p>")

        server.answer = answer
        web = made(UsageTracker(), fetcher=PageFetcher(allow_private=True))
        good, bad = web.search("comet", 5)
        assert good.fetched and "whole page" in good.text
        assert not bad.fetched and bad.text == "Words."
        assert web.problems == (Unread(name="127.0.0.1", why="the server said 404"),)
        assert made(UsageTracker()).id != web.id
        server.answer = lambda request: Reply(status=500)
        failure(web)
        assert web.problems == (), "they are those of the last search"


class KeyedContract(SearchingContract):
    """The same of a provider that asks for a key."""

    def refusal(self, said: str) -> Reply:
        """What its server sends to a key that it does not know, with these words."""
        raise NotImplementedError

    def keyed(self, server: Server, key: str, meter: UsageTracker | None = None) -> WebSearch:
        return self.provider.make(WebParts(meter=meter or UsageTracker(), key=SecretStr(key), address=server.address))

    def test_the_key_goes_to_its_server_and_nowhere_else(
        self, server: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        secret, calls = KEY.get_secret_value(), list[Call]()
        web = self.keyed(server, f" {secret}\n", UsageTracker(listener=calls.append))
        web.search("comet", 2)
        [request] = server.seen
        in_header = any(value.split(" ")[-1] == secret for value in request.headers.values())
        assert in_header, "a key goes in a header: addresses are written to logs"
        server.answer = lambda request: self.refusal(f"Incorrect key: {secret}")
        found = failure(web)
        whole = "".join(traceback.format_exception(found))
        assert isinstance(found, KeyRejectedError)
        assert secret not in f"{found} {whole} {calls} {web!r} {caplog.text}"

    @pytest.mark.parametrize("key", ["", " \n", "k-\u20ac", "k-a b", "k-a\r\nX-Other: b", "k-\x00"])
    def test_what_can_be_no_key_is_refused_and_not_repeated(self, server: Server, key: str) -> None:
        with pytest.raises(KeyRejectedError) as caught:
            self.keyed(server, key)
        assert "k-" not in str(caught.value)
