"""HTML that escapes by default: elements are written as `div("cx")[children]`, and any child that is not HTML is text.

To draw: `from crag.export.html import elements as h`, then `h.p("small")["Found in ", h.b[name]]`. A string becomes
HTML in no other way than by `Html("…")`, which is for the program's own constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from crag.export.html.safe_text import escaped, link


class Html(Markup):
    """A string that is HTML. Whatever is joined or formatted into it is escaped, but for HTML; `escape` says how."""

    __slots__ = ()

    @classmethod
    def escape(cls, value: Any, /) -> Html:
        """Any value as text, safe between tags and inside a quoted attribute; HTML stays as it is."""
        return str.__new__(cls, value.__html__() if hasattr(value, "__html__") else escaped(value))


_PICTURE = "data:image/"


class Tag:
    """An element: `tag(classes, attribute=value)[child, child]`. Without children it stands empty.

    An attribute's `_` is a `-`; one that is None or False is left out. Children may be lists and generators of
    children; None, False and "" are nothing. A link that leads neither to the web nor to a page of this program, or a
    place in it, loses its address; so does a picture that is not in the page itself.
    """

    __slots__ = ("_attributes", "_name")

    def __init__(self, name: str, attributes: str = "") -> None:
        self._name, self._attributes = name, attributes

    def __call__(self, classes: object = None, /, **attributes: object) -> Tag:
        written = self._attributes + _attribute("class", classes)
        for name, value in attributes.items():
            written += _attribute(name, value)
        return type(self)(self._name, written)

    def __getitem__(self, children: object) -> Html:
        return str.__new__(Html, f"<{self._name}{self._attributes}>{_written((children,))}</{self._name}>")

    def __html__(self) -> Html:
        return self[()]

    __iter__ = None  # or a loop over it would never end


class Void(Tag):
    """An element without children, which has no end."""

    __slots__ = ()

    def __getitem__(self, children: object) -> Html:
        return str.__new__(Html, f"<{self._name}{self._attributes}>")


def _attribute(name: str, value: object) -> str:
    if value is None or value is False or (name == "href" and not _leads(str(value))):
        return ""
    if name == "src" and not str(value).startswith(_PICTURE):
        return ""
    # Never as HTML, which would end the attribute with its first quotation mark.
    return f' {_spelt(name)}="{escaped(value)}"'


@cache
def _spelt(name: str) -> str:
    """An attribute's name: there are as many as this program writes down."""
    return name.strip("_").replace("_", "-")


def _leads(address: str) -> bool:
    return address.startswith(("./", "#")) or link(address) is not None


def fragment(*children: object) -> Html:
    """These one after another: text escaped, HTML as it is."""
    return str.__new__(Html, _written(children))  # `Html(…)` would look at it once more


def joined(between: object, children: Iterable[object]) -> Html:
    """The children with the same thing between each two."""
    return Html.escape(between).join(fragment(child) for child in children)


def _written(children: Iterable[object]) -> str:
    return "".join(_piece(child) for child in children if child is not None and child is not False)


def _piece(child: object) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return _written(child)
    return Html.escape(child)


br, nbsp = Html("<br>"), Html("&nbsp;")
(a, b, blockquote, button, caption, details, div, figure, h1, h2, h3, i, li, mark, ol, p, s, section, small, span) = (
    map(Tag, "a b blockquote button caption details div figure h1 h2 h3 i li mark ol p s section small span".split())
)
summary, header, nav, output = map(Tag, ("summary", "header", "nav", "output"))
img, slider = Void("img"), Void("input")
(table, tbody, td, tfoot, th, thead, title, tr, ul) = map(Tag, "table tbody td tfoot th thead title tr ul".split())


_FOLDER = Path(__file__).parent / "static"


@cache
def asset(name: str) -> Html:
    """A style sheet or script of the program's own, by its file's name."""
    return Html((_FOLDER / name).read_text(encoding="utf-8"))
