"""Whatever is drawn is text unless an element was made of it: as child, in an attribute, joined, formatted, drawn."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from crag.export.html import elements as h
from crag.export.html import safe_text
from crag.export.html.elements import Html

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \"quoted\" 'single' & co"
ESCAPED = (
    "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; "
    "&quot;quoted&quot; &#x27;single&#x27; &amp; co"
)


class Read(HTMLParser):
    """The tags with their attributes, and the text, as a browser would read them."""

    def __init__(self, made: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(made)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "made",
    [
        h.p[HOSTILE],
        h.p["", [(None, [HOSTILE])], False],
        h.p[(each for each in [HOSTILE])],
        h.p[h.joined("", [HOSTILE])],
        h.fragment(Html("<p>"), HOSTILE, Html("</p>")),
        Html("<p>{}</p>").format(HOSTILE),
        Html("<p>{:>4}</p>").format(HOSTILE),
        Html("<p>%s</p>") % HOSTILE,
        Html("<p>") + HOSTILE + Html("</p>"),
        Html("").join([Html("<p>"), HOSTILE, Html("</p>")]),
    ],
)
def test_text_is_inert_wherever_it_goes(made):
    assert made == f"<p>{ESCAPED}</p>" and isinstance(made, Html)


def test_an_attribute_is_text_even_where_html_is_given():
    for value in (HOSTILE, Html(HOSTILE)):
        made = Read(h.p(value, title=value, data_pick=value)[()])
        assert made.tags == [("p", {"class": HOSTILE, "title": HOSTILE, "data-pick": HOSTILE})]


@pytest.mark.slow
@given(some.text(), some.text())
def test_any_text_comes_back_from_a_browser_as_it_was_but_for_what_is_unseen(said, about):
    made = Read(h.p("x", title=about)[said, h.b["!"]])
    assert [tag for tag, _ in made.tags] == ["p", "b"]
    assert not set(made.text + str(made.tags[0][1]["title"])) & set("\u202e\u2066\ufeff\x00\x1b\ud800")
    str(h.p[said]).encode()  # a lone half of a character could not be sent


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", " JavaScript:alert(1)", "data:text/html,x", "//evil.org", ""]
)
def test_a_link_leads_to_the_web_or_to_a_page_of_this_program(address):
    assert h.a(href=address)["x"] == "<a>x</a>"
    assert h.a(href="https://e.org/?a=1&b=2")["x"] == '<a href="https://e.org/?a=1&amp;b=2">x</a>'
    assert h.a(href="./?run=1")["x"] == '<a href="./?run=1">x</a>'


def test_what_is_drawn_and_is_no_html_is_text():
    def page():
        from crag.export.html import elements as h
        from tests.app.test_html import HOSTILE
        from ui.components import drawing

        for each in (HOSTILE, h.p["x"], h.Html(), h.div("cx")):
            drawing.draw(each)

    shown = AppTest.from_function(page).run().get("html")
    assert [each.proto.body for each in shown] == [ESCAPED, "<p>x</p>", '<div class="cx"></div>']


# Nothing that a document, page or person says becomes Markdown, a link or an invisible mark


@pytest.mark.parametrize(
    "given",
    ["invoice\u202efdp.exe\x00", "\u2066invoicefdp.exe\u2069", "\ufeffinvoice\x1bfdp.exe", "invoicefdp.exe\ud800"],
)
def test_what_acts_unseen_is_dropped(given):
    assert safe_text.visible(given) == "invoicefdp.exe" == safe_text.excerpt(given, 40)
    assert safe_text.markdown(given) == "invoicefdp\\.exe"


@pytest.mark.parametrize("given", ["[x](http://evil)", "![x](//evil)", "**b** `c` :red[d] $e$", "# head\n- list"])
def test_markdown_has_no_markup_left(given):
    made = safe_text.markdown(given)
    for sign in "[]()!*`:$#-":
        assert made.count(sign) == made.count("\\" + sign)
    assert "\n" not in made


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//host", "folder:a.md", "http://[broken", ""],
)
def test_only_web_addresses_become_links(url):
    assert safe_text.link(url) is None


def test_a_web_address_stays_as_it_is():
    assert safe_text.link(' https://e.org/?a=1&b="x" ') == 'https://e.org/?a=1&b="x"'
    assert safe_text.site("https://e.org/page") == "e.org" and safe_text.site("folder:notes/a.md") == "a.md"
