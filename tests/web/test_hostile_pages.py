"""Hostile pages: each is read within the limits of its child, and what comes out is text."""

import gzip
import re
import threading

import pytest

from crag.core.types import WebPage
from crag.web.fetching import MAX_BYTES, PageFetcher
from crag.web.webpage import MAX_TEXT, MAX_TITLE, read_page
from tests.support.hostile_pages import PAGES, SIZE, HostilePage
from tests.support.sizes import sized, thinned
from tests.support.web_server import Reply, serving

LARGE = sized(SIZE, SIZE // 4)
REASONS = ("it holds no text", "it can't be read, or takes too much to read")
MARKUP = re.compile(r"<[A-Za-z/!?]")


def read(data: bytes, suffix: str) -> None:
    """Read a page; what comes out of it is text."""
    try:
        found = read_page(data, suffix, "fallback")
    except ValueError as error:
        assert str(error) in REASONS
    else:
        assert 0 < len(found.text) <= MAX_TEXT and 0 < len(found.title) <= MAX_TITLE
        assert not MARKUP.search(found.text) and not MARKUP.search(found.title)


def test_there_are_so_many_and_each_is_as_large_as_a_page_may_be() -> None:
    assert SIZE == MAX_BYTES and len({page.name for page in PAGES}) == len(PAGES) >= 90
    assert {page.suffix for page in PAGES} == {".html", ".md", ".txt"}
    assert all(len(page.make(SIZE)) <= SIZE for page in PAGES)


@pytest.mark.parametrize("page", thinned(PAGES, 8), ids=[page.name for page in PAGES])
def test_a_hostile_page_ends(page: HostilePage) -> None:
    read(page.make(LARGE), page.suffix)


@pytest.mark.parametrize(
    "charset", thinned(("utf-8", "gb18030", "big5", "euc-jp", "iso-2022-jp", "cp874", "koi8-r", "utf-16"), 4)
)
def test_so_are_bytes_that_are_no_text_in_any_encoding(charset: str) -> None:
    data = f"<meta charset={charset}><p>".encode() + b"\xff\xfe\xfa" * (LARGE // 3)
    read(data, ".html")


def test_two_kilobytes_as_gzip_do_not_hold_up_the_other_pages() -> None:
    packed = gzip.compress(b"__a " * (LARGE // 4))
    assert len(packed) < 3_000
    packing = {"Content-Encoding": "gzip"}
    with serving(lambda request: Reply(kind="text/markdown", body=packed, headers=packing)) as server:
        pages = [
            WebPage(id=url, url=url, title="A result", text="", provider="p", query="q", rank=1)
            for url in (f"{server.address}/{number}" for number in range(5))
        ]
        by = PageFetcher(trusted=[server.place], seconds=60)
        found, problems = by.fetched(pages, seconds=60, cancel=threading.Event())
    assert problems == [] and all(page.fetched for page in found)
