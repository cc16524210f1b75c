"""Pages behind web results: what is fetched, what is refused, and that nothing of this network ever is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from crag.core.errors import CancelledError
from crag.core.types import WebPage
from crag.correct.addresses import is_public
from crag.correct.fetching import MAX_BYTES, PageFetcher

BODY = b"<html><title>The bridge</title><body><p>" + b"The bridge was opened in 1890. " * 10 + b"</p></body></html>"


class _Pages(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        answers: dict[str, tuple[int, str, bytes]] = {
            "/page": (200, "text/html; charset=utf-8", BODY),
            "/plain": (200, "text/plain", b"Plain words about a bridge."),
            "/pdf": (200, "application/pdf", b"%PDF-1.7"),
            "/missing": (404, "text/html", b"no"),
            "/big": (200, "text/html", b"x" * (MAX_BYTES + 10)),
            "/empty": (200, "text/html", b""),
        }
        if self.path in ("/loop", "/away", "/file", "/inner"):
            self.send_response(302)
            port = self.server.server_address[1]
            target = {
                "/loop": "/loop",
                "/away": "/page",
                "/file": "file:///etc/passwd",
                "/inner": f"http://localhost:{port}/page",
            }
            self.send_header("Location", target[self.path])
            self.end_headers()
            return
        if self.path == "/hang":
            threading.Event().wait(3)
        status, kind, data = answers.get(self.path, answers["/missing"])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def result(url: str) -> WebPage:
    return WebPage(id=url, url=url, title="A result", text="the provider's words", provider="p", query="q", rank=1)


def fetched(*urls: str, allow: bool = True, seconds: float = 5) -> tuple[list[WebPage], list[str]]:
    fetcher = PageFetcher(allow_private=allow)
    return fetcher.fetched([result(url) for url in urls], seconds=seconds, cancel=threading.Event())


def test_pages_become_their_main_text_in_order(address: str) -> None:
    pages, problems = fetched(f"{address}/plain", f"{address}/page", f"{address}/away")
    assert problems == []
    assert [page.fetched for page in pages] == [True] * 3
    assert "Plain words" in pages[0].text and "1890" in pages[1].text and pages[1].text == pages[2].text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/pdf", "no page of text"),
        ("/missing", "404"),
        ("/big", "larger than"),
        ("/empty", "no text"),
        ("/loop", "without end"),
        ("/file", "not one of the web"),
    ],
)
def test_what_cant_be_used_keeps_the_providers_words_and_says_why(address: str, path: str, why: str) -> None:
    pages, problems = fetched(f"{address}{path}", f"{address}/page")
    assert [page.fetched for page in pages] == [False, True]
    assert pages[0].text == "the provider's words"
    [problem] = problems
    assert why in problem


@pytest.mark.parametrize(
    "url",
    [
        "{address}/page",
        "http://localhost:{port}/page",
        "http://127.1:{port}/page",
        "http://2130706433:{port}/page",
        "http://0x7f000001:{port}/page",
        "http://[::1]:{port}/page",
        "http://[::ffff:127.0.0.1]:{port}/page",
        "http://0.0.0.0:{port}/page",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "http://user@127.0.0.1:{port}/page",
    ],
)
def test_nothing_of_this_machine_or_its_network_is_fetched(address: str, url: str) -> None:
    port = address.rpartition(":")[2]
    [page], problems = fetched(url.format(address=address, port=port), allow=False)
    assert not page.fetched and page.text == "the provider's words"
    assert len(problems) == 1


def test_a_redirect_to_this_network_is_refused_like_an_address_of_it(address: str, monkeypatch: object) -> None:
    """Every hop is a connection, and the check is made where connections are."""
    from crag.correct import addresses

    asked: list[str] = []
    known = addresses.is_public

    def first_is_public(found: str) -> bool:
        asked.append(found)
        return True if len(asked) == 1 else known(found)

    addresses.is_public = first_is_public  # type: ignore[assignment]
    try:
        [page], problems = fetched(f"{address}/inner", allow=False)
    finally:
        addresses.is_public = known
    assert len(asked) >= 2 and not page.fetched and "network" in problems[0]


def test_time_is_limited_and_stop_ends_it(address: str) -> None:
    pages, problems = fetched(f"{address}/hang", f"{address}/page", seconds=0.5)
    assert [page.fetched for page in pages] == [False, True] and problems
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CancelledError):
        PageFetcher(allow_private=True).fetched([result(f"{address}/hang")], seconds=5, cancel=cancel)


@pytest.mark.parametrize(
    ("address_", "public"),
    [
        *((each, True) for each in ("93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808")),
        *(
            (each, False)
            for each in ("10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "0.0.0.0", "169.254.169.254")
        ),
        *(
            (each, False)
            for each in ("100.64.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1%eth0", "fc00::1")
        ),
        *((each, False) for each in ("::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1")),
    ],
)
def test_which_addresses_are_public(address_: str, public: bool) -> None:
    assert is_public(address_) is public
