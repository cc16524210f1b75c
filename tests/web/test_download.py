"""What stands at an address, for a document: within limits of size and time, and never from this machine unasked."""

import threading
from collections.abc import Iterator

import pytest

from crag.core.errors import GoneError, PageError, SignInError
from crag.web.fetching import Downloads, page_address, page_name
from tests.support.web_pages import Site
from tests.support.web_server import Reply, Server, serving

STEPS = {
    "page": Reply(
        body=b"<p>It is here.</p>", headers={"ETag": '"7"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    ),
    "odd": Reply(body=b"<p>It is here.</p>", headers={"ETag": '"\u00fc"'.encode().decode("latin-1")}),
    "moved": Reply(status=301, headers={"Location": "/page"}),
    "gone": Reply(status=410),
    "inner": Reply(status=401),
    "hang": Reply(ends="hang"),
    "drip": Reply(ends="drip"),
    "large": Reply(headers={"Content-Length": "1000000000"}, ends="endless", body=b"x" * 65_536),
    "unasked": Reply(status=304),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(Site(**STEPS)) as server:
        yield server


def get(server: Server, path: str, seconds: float = 20.0, **known: str) -> object:
    downloads = Downloads(max_mb=1, trusted=[server.place], seconds=seconds)
    return downloads.get(f"{server.address}/{path}", cancel=threading.Event(), **known)


def test_a_page_comes_with_what_tells_a_change_and_is_not_sent_twice(server: Server) -> None:
    first = Downloads(max_mb=1, trusted=[server.place]).get(f"{server.address}/moved", cancel=threading.Event())
    assert (first.data, first.etag, first.last_modified[:3]) == (b"<p>It is here.</p>", '"7"', "Mon")
    again = Downloads(max_mb=1, trusted=[server.place]).get(
        f"{server.address}/moved", cancel=threading.Event(), etag=first.etag, last_modified=first.last_modified
    )
    assert again.data is None
    assert server.seen[-1].headers["If-Modified-Since"] == first.last_modified


@pytest.mark.parametrize(
    ("path", "kind", "why"),
    [
        ("gone", GoneError, "There is no page"),
        ("inner", SignInError, "sign in"),
        ("hang", PageError, "it took too long"),
        ("drip", PageError, "it took too long"),
        ("large", PageError, "larger than 1 MB"),
        ("unasked", PageError, "the server said 304"),
    ],
)
def test_what_does_not_come_is_one_clear_error(server: Server, path: str, kind: type[PageError], why: str) -> None:
    with pytest.raises(kind, match=why):
        get(server, path, seconds=0.4 if path in ("hang", "drip") else 20.0)


def test_a_redirect_to_this_machine_ends_there(server: Server) -> None:
    with serving(Site(secret=Reply(body=b"<p>of this machine</p>"))) as inner:
        server.answer = Site(away=Reply(status=302, headers={"Location": f"{inner.address}/secret"}))
        with pytest.raises(PageError, match="this machine or its network"):
            get(server, "away")
        assert inner.seen == []
    server.answer = Site(**STEPS)


def test_a_closed_port_is_said() -> None:
    with serving(Site()) as closed:
        place, address = closed.place, closed.address
    with pytest.raises(PageError, match="can't be reached"):
        Downloads(max_mb=1, trusted=[place]).get(address, cancel=threading.Event())


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (" https://example.org/a#part ", "https://example.org/a"),
        ("http://example.org", "http://example.org"),
        ("https://example.org/a?b=c", "https://example.org/a?b=c"),
    ],
)
def test_an_address_is_kept_without_its_fragment(typed: str, kept: str) -> None:
    assert page_address(typed) == kept


def test_a_page_is_named_by_host_and_path() -> None:
    assert page_name("https://www.example.org/help/fares?year=2024") == "example.org › help › fares › year=2024"
    assert page_name("https://example.org/a%0ab%3Cb%3E") == "example.org › ab<b>"
