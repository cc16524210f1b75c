"""Nothing that a document, page or person says becomes markup."""

import pytest

from ui.kit import safe

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \"quoted\" 'single' & co"


def test_text_is_inert_between_tags_and_in_attributes():
    made = safe.text(HOSTILE)
    assert not set("<>\"'") & set(made) and "&lt;script&gt;" in made


def test_marks_that_turn_a_name_around_are_dropped():
    assert safe.text("invoice\u202efdp.exe\x00") == "invoicefdp.exe"


@pytest.mark.parametrize("given", ["[x](http://evil)", "![x](//evil)", "**b** `c` :red[d] $e$", "# head\n- list"])
def test_markdown_has_no_markup_left(given):
    made = safe.markdown(given)
    for sign in "[]()!*`:$#-":
        assert made.count(sign) == made.count("\\" + sign)
    assert "\n" not in made


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//host", "folder:a.md", ""]
)
def test_only_web_addresses_become_links(url):
    assert safe.link(url) is None


def test_a_web_address_is_escaped():
    assert safe.link('https://e.org/?a=1&b="x"') == "https://e.org/?a=1&amp;b=&quot;x&quot;"
    assert safe.link("http://[broken") is None
    assert safe.site("https://e.org/page") == "e.org" and safe.site("folder:notes/a.md") == "a.md"


def test_an_excerpt_is_one_short_line():
    assert safe.excerpt("one\n two  three", 100) == "one two three"
    assert len(safe.excerpt("word " * 100, 40)) <= 40 and safe.excerpt("word " * 100, 40).endswith("…")
