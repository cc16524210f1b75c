"""Saved pages to text: main text, title, address, date; and nothing of what a hostile page tries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.web.webpage import MAX_TEXT, SavedPage, read_page

BODY = "<p>The bridge was opened to traffic in the spring of 1890 after eight years of work.</p>" * 3


def read(source: str | bytes, suffix: str = ".html") -> SavedPage:
    return read_page(source.encode() if isinstance(source, str) else source, suffix, "fallback")


def test_main_text_without_the_frame() -> None:
    found = read(
        "<html><head><title>Bridge</title></head><body><nav><a href=/>Home</a><a href=/b>Buy now</a></nav>"
        f"<article><h1>The bridge</h1>{BODY}<ul><li>Length: 2,467 m</li></ul>"
        "<table><tr><th>Span</th><th>Metres</th></tr><tr><td>North</td><td>521</td></tr></table></article>"
        "<script>var tracked = 1</script><style>p{color:red}</style></body></html>"
    )
    assert found.title == "Bridge"
    assert "opened to traffic in the spring of 1890" in found.text
    assert "2,467 m" in found.text and "521" in found.text
    assert "Buy now" not in found.text and "tracked" not in found.text and "color" not in found.text


@pytest.mark.parametrize(
    ("head", "url"),
    [
        ('<link rel="canonical" href="https://example.org/a?b=1">', "https://example.org/a?b=1"),
        ('<meta property="og:url" content="http://example.org/a">', "http://example.org/a"),
        ('<link rel="canonical" href="javascript:alert(1)"><meta property="og:url" content="data:text/html,x">', None),
        ('<link rel="canonical" href="https://user:pass@example.org/">', None),
        ('<link rel="canonical" href="https://example.org/&quot; onload=x">', None),
        ('<link rel="canonical" href="/relative">', None),
    ],
)
def test_the_address_is_one_a_browser_may_be_sent_to(head: str, url: str | None) -> None:
    assert read(f"<head>{head}</head><body>{BODY}</body>").url == url


@pytest.mark.parametrize(
    ("head", "date"),
    [
        ('<meta property="article:published_time" content="2019-03-04T10:00:00Z">', "2019-03-04"),
        ('<meta name="DC.date.issued" content="2019">', "2019"),
        ('<meta name="date" content="2019-13-40">', None),
    ],
)
def test_a_date_only_where_the_page_says_one(head: str, date: str | None) -> None:
    assert read(f"<head>{head}</head><body>{BODY}</body>").published == date


def test_a_time_element_dates_a_page() -> None:
    assert read(f'<article><time datetime="2020-02-29">yesterday</time>{BODY}</article>').published == "2020-02-29"


HOSTILE = [
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&lt;scr&lt;b&gt;ipt&gt;alert(1)",
    "<img src=x onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe srcdoc='<p>alert(1)</p>'></iframe>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<a href='javascript:alert(1)'>link</a>",
    "<p>unclosed <b <i <script",
    "&lt;" * 500 + "script&gt;",
]


@pytest.mark.parametrize("suffix", [".html", ".md", ".txt"])
@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_no_markup_is_left_in_the_text(hostile: str, suffix: str) -> None:
    found = read(f"<title>T {hostile}</title>{BODY}<p>before</p>{hostile}<p>after</p>", suffix)
    for text in (found.text, found.title):
        lower = text.lower()
        assert not any(f"<{name}" in lower for name in ("script", "img", "svg", "iframe", "a ", "b", "!--", "/"))
        assert "onerror" not in lower.replace("onerror=alert(1)>", "") or "<" not in lower
    assert "bridge was opened" in found.text


def test_directional_and_control_characters_are_gone() -> None:
    found = read("A\u202ebridge\u200b \x07was opened.", ".txt")
    assert found.text == "Abridge was opened."


def test_nesting_and_size_are_survived() -> None:
    deep = "<div>" * 50_000 + BODY + "</div>" * 50_000
    for nested in (deep, "<table><tr><td>" * 3_000 + "opened"):
        with pytest.raises(ValueError, match="too much"):
            read(nested)
    assert len(read("<p>" + "word " * 200_000 + "</p>").text) <= MAX_TEXT


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Zürich".encode("utf-8-sig"), "Zürich"),
        ("Zürich".encode("utf-16"), "Zürich"),
        (b'<meta charset="iso-8859-2"><p>' + "Łódź".encode("iso-8859-2"), "Łódź"),
        (b'<meta charset="rot13"><p>Zurich', "Zurich"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    assert read(data).text == text


def test_markdown_without_its_marks() -> None:
    found = read(
        "---\ntitle: 'The bridge'\ndate: 1890-03-04\nurl: https://example.org/bridge\n---\n"
        '# Heading\n\nIt was **opened** in [March](https://example.org/m "m").\n\n'
        "| span | metres |\n|------|-------:|\n| north | 521 |\n\n```\ncode\n```\n<script>alert(1)</script>\n",
        ".md",
    )
    assert found == SavedPage(
        title="The bridge",
        text="Heading\nIt was opened in March.\nspan; metres\nnorth: metres 521\ncode",
        url="https://example.org/bridge",
        published="1890-03-04",
    )


@pytest.mark.parametrize("data", [b"", b" \n ", b"<html><body></body></html>", b"\x00\x01" * 100, b"---\n---\n"])
def test_no_text_is_said(data: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        read(data)


@given(st.binary(max_size=300), st.sampled_from([".html", ".md", ".txt"]))
def test_any_bytes_give_a_page_or_a_reason(data: bytes, suffix: str) -> None:
    try:
        found = read(data, suffix)
    except ValueError as error:
        assert str(error).startswith("it ")
    else:
        assert found.text.strip() and found.title


@given(st.text(alphabet="<>/!ab p=\"'&;\n-[]()|#`script", max_size=200))
def test_no_text_with_tags_is_left(source: str) -> None:
    for suffix in (".html", ".md", ".txt"):
        try:
            found = read("text " + source, suffix)
        except ValueError:
            continue
        assert "<script" not in found.text and "<a" not in found.text and "</" not in found.text
