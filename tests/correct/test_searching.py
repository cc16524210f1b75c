"""Tavily's own client against a loopback server that answers and fails as the real one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from pydantic import SecretStr
from websearch_contract import WebSearchContract

from crag.core.errors import KeyRejectedError, ProviderError, UnreachableError, WebSearchError
from crag.core.meter import Budget, Call, Meter
from crag.correct.searching import TavilySearch

KEY = SecretStr("tvly-secret-of-the-tests")
RESULTS = [
    {"url": f"https://example.org/{n}", "title": f"Comet {n}", "content": f"A comet came in {1900 + n}.", "score": 0.9}
    for n in range(1, 5)
]


class _Tavily(BaseHTTPRequestHandler):
    mode = ""
    seen: ClassVar[list[dict[str, Any]]] = []

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _Tavily.seen.append({**body, "authorization": self.headers.get("Authorization")})
        if self.mode == "hang":
            threading.Event().wait(4)
        status = int(self.mode) if self.mode.isdigit() else 200
        found = RESULTS[: body["max_results"]] if "comet" in body["query"].lower() else []
        reply: Any = {"query": body["query"], "results": found}
        data = {
            "garbage": b"<html>not json",
            "list": b"[1]",
            "odd": json.dumps(
                {"results": [None, {"url": 7}, {"url": "javascript:x", "content": "y"}, RESULTS[0]]}
            ).encode(),
        }.get(
            self.mode,
            json.dumps(reply if status == 200 else {"detail": {"error": f"key {KEY.get_secret_value()}"}}).encode(),
        )
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if self.mode == "302":
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Tavily)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def as_it_should() -> Iterator[None]:
    _Tavily.mode = ""
    _Tavily.seen.clear()
    yield


class TestTavily(WebSearchContract):
    @pytest.fixture
    def web(self, address: str) -> TavilySearch:
        return TavilySearch(KEY, Meter(), base_url=address)


def test_the_key_goes_to_the_provider_and_the_query_as_it_is(address: str) -> None:
    calls: list[Call] = []
    TavilySearch(KEY, Meter(listener=calls.append), base_url=address).search("comet  of\n1910", 2)
    [seen] = _Tavily.seen
    assert seen["query"] == "comet of 1910" and seen["max_results"] == 2
    assert seen["authorization"] == f"Bearer {KEY.get_secret_value()}"
    assert [(call.provider, call.error) for call in calls] == [("tavily", None)]


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("401", KeyRejectedError),
        *((status, WebSearchError) for status in ("400", "403", "429", "432", "433", "500", "302")),
        *((mode, WebSearchError) for mode in ("garbage", "list")),
    ],
)
def test_every_failure_is_one_of_ours_and_names_no_key(address: str, mode: str, kind: type[ProviderError]) -> None:
    _Tavily.mode = mode
    calls: list[Call] = []
    with pytest.raises(kind) as caught:
        TavilySearch(KEY, Meter(listener=calls.append), base_url=address).search("comet", 3)
    assert KEY.get_secret_value() not in str(caught.value) + repr(calls)
    assert calls[0].error


def test_a_hanging_or_missing_server_is_given_up(address: str) -> None:
    _Tavily.mode = "hang"
    with pytest.raises(UnreachableError):
        TavilySearch(KEY, Meter(Budget(seconds=0.3)), base_url=address).search("comet", 3)
    with pytest.raises(UnreachableError):
        TavilySearch(KEY, Meter(), base_url="http://127.0.0.1:9").search("comet", 3)


def test_results_without_an_address_or_text_are_left_out(address: str) -> None:
    _Tavily.mode = "odd"
    assert [page.url for page in TavilySearch(KEY, Meter(), base_url=address).search("comet", 5)] == [RESULTS[0]["url"]]


def test_without_a_key_nothing_is_asked() -> None:
    with pytest.raises(KeyRejectedError):
        TavilySearch(SecretStr(" "), Meter())
