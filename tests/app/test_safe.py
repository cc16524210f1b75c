"""Nothing that a document, page or person says becomes Markdown, a link or an invisible mark."""

import pytest

from crag.export.html import safe_text


@pytest.mark.parametrize(
    "given",
    ["invoice\u202efdp.exe\x00", "\u2066invoicefdp.exe\u2069", "\ufeffinvoice\x1bfdp.exe", "invoicefdp.exe\ud800"],
)
def test_what_acts_unseen_is_dropped(given):
    assert safe_text.visible(given) == "invoicefdp.exe" == safe_text.excerpt(given, 40)
    assert safe_text.markdown(given) == r"invoicefdp\.exe"


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
