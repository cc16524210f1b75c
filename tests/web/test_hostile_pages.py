"""Hostile pages: each is read within a bound, and what comes out is text."""

import gzip
import re
import threading

import pytest

from crag.core.types import WebPage
from crag.web.fetching import MAX_BYTES, PageFetcher
from crag.web.folder import MAX_FILE_BYTES
from crag.web.webpage import MAX_TEXT, MAX_TITLE, plain_markup, read_page
from tests.support.hostile_pages import PAGES, SIZE, HostilePage
from tests.support.sizes import sized, thinned
from tests.support.web_server import Reply, serving
from tests.support.work import takes_longer

LARGE = sized(SIZE, SIZE // 4)
SECONDS = sized(5, 4)
"""Of a quiet machine. Each page takes two at most; some took a minute and more, and four seconds where they are a
quarter as large."""
MARKUP = re.compile(r"<[A-Za-z/!?]")


def read(data: bytes, suffix: str) -> None:
    """Read a page; what comes out of it is text."""
    try:
        found = read_page(data, suffix, "fallback")
    except ValueError as error:
        assert str(error) == "it holds no text"
    else:
        assert 0 < len(found.text) <= MAX_TEXT and 0 < len(found.title) <= MAX_TITLE
        assert not MARKUP.search(found.text) and not MARKUP.search(found.title)


def test_there_are_so_many_and_each_is_as_large_as_a_page_may_be() -> None:
    assert SIZE == MAX_BYTES and len({page.name for page in PAGES}) == len(PAGES) >= 90
    assert {page.suffix for page in PAGES} == {".html", ".md", ".txt"}
    assert all(len(page.make(SIZE)) <= SIZE for page in PAGES)


@pytest.mark.parametrize("page", thinned(PAGES, 4), ids=[page.name for page in PAGES])
def test_a_hostile_page_is_read_within_a_bound(page: HostilePage) -> None:
    assert not takes_longer(SECONDS, read, page.make(LARGE), page.suffix)


@pytest.mark.parametrize("name", ["html: attributes of one element", "html: few deep ones", "md: open underscores"])
def test_so_is_a_file_of_the_largest_size(name: str) -> None:
    [page] = [page for page in PAGES if page.name == name]
    assert not takes_longer(SECONDS, read, page.make(MAX_FILE_BYTES), page.suffix)


@pytest.mark.parametrize(
    "charset", thinned(("utf-8", "gb18030", "big5", "euc-jp", "iso-2022-jp", "cp874", "koi8-r", "utf-16"), 4)
)
def test_so_are_bytes_that_are_no_text_in_any_encoding(charset: str) -> None:
    data = f"<meta charset={charset}><p>".encode() + b"\xff\xfe\xfa" * (LARGE // 3)
    assert not takes_longer(SECONDS, read, data, ".html")


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


class TestMarkup:
    """What a parser is given of a page."""

    def test_an_ordinary_page_keeps_what_tells_its_parts(self) -> None:
        found = plain_markup(
            "<!DOCTYPE html><HTML lang=en><head><title>A &amp; B</title><script>var a = '<p>'</script>"
            "<meta property=og:title content='A &quot;B&quot;'></head>"
            '<body onload="x()"><!-- <p>no</p> --><p class=a id="b">One &lt; two<br/>three</P></body></html>'
        )
        assert found == (
            "<html><head><title>A &amp; B</title>"
            '<meta property="og:title" content="A &quot;B&quot;"></head>'
            '<body><p class="a" id="b">One &lt; two<br>three</p></body></html>'
        )

    @pytest.mark.parametrize(
        ("source", "inside"),
        [
            ("<p a='>' b=\">\" c=> d>x", "<p> d&gt;x"),
            ("a < b <3 </ >c", "a &lt; b &lt;3 c"),
            ("<p class='a' class=b>x", '<p class="a">x'),
            ("<p class='unclosed>x", '<p class="">x'),
            ("x<p class", 'x<p class="">'),
            ("<!-->x<!--->y<!-- --!>z<!-- <p>", "xyz"),
            ("<![CDATA[<b>]]>x<?php ?>y", "]]&gt;xy"),
            ("<scr<script>ipt>x</script>", "ipt&gt;x"),
            ("<textarea><p>x</textarea >y", "y"),
            ("<style>a<style>b</style>c", "c"),
            ("<plaintext>x", "x"),
            ("x<script>y<p>z", "x"),
            ("x<title>y<p>z", "xy<p>z"),
            ("<a href='?a=1&copy=2&amp;b=3'>x", '<a href="?a=1&copy=2&amp;b=3">x'),
            ("<a href='" + "x" * 8_001 + "' class='" + "y" * 301 + "'>x", f'<a class="{"y" * 300}">x'),
            ("a&#60;b&#x3e;&lt;script&gt;", "a&lt;b&gt;&lt;script&gt;"),
            ("&#" + "9" * 5_000 + ";x", "\ufffdx"),
            ("a \n\t b\u00a0 c", "a\nb c"),
            ("x" * 1_001 + " y", "  y"),
        ],
    )
    def test_tags_are_found_as_browsers_find_them(self, source: str, inside: str) -> None:
        assert plain_markup(source) == f"<html>{inside}</html>"

    def test_of_each_kind_there_is_only_so_much(self) -> None:
        many = plain_markup("<b>" * 100_000 + "opened in 1890" + "<p>" * 100_000 + "in spring")
        assert many.count("<b>") == 20_000 and "opened in 1890" in many and "in spring" in many
        assert len(plain_markup("a bridge " * 100_000)) < 250_000
        assert len(plain_markup("<p " + "class='" + "a " * 100_000 + "'" + " id=b" * 1_000 + ">x")) < 500
