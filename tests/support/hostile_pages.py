"""A hundred pages made to keep a reader busy, each as large as a page may be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

SIZE = 2_000_000
"""Bytes: the most that is fetched of a page."""


@dataclass(frozen=True, slots=True)
class HostilePage:
    """`make` gives the bytes: of so many, or a few less."""

    name: str
    suffix: str
    make: Callable[[int], bytes]


def again(unit: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """The unit as often as it fits between the two."""

    def made(size: int) -> bytes:
        room = size - len((before + after).encode())
        return (before + unit * (room // len(unit.encode())) + after).encode()

    return made


def nested(opening: str, closing: str, inside: str = "opened in 1890") -> Callable[[int], bytes]:
    """Each in the one before."""

    def made(size: int) -> bytes:
        count = (size - len(inside)) // (len(opening) + len(closing))
        return (opening * count + inside + closing * count).encode()

    return made


def numbered(unit: str, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """The unit again and again, its {} another number each time."""

    def made(size: int) -> bytes:
        count = (size - len(before) - len(after)) // (len(unit) + 5)
        return (before + "".join(unit.format(number) for number in range(count)) + after).encode()

    return made


def elements(unit: str, count: int = 15_000, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """So few that a reader may look at each, filled up to the size with a comment."""

    def made(size: int) -> bytes:
        page = (before + unit * min(count, size // len(unit)) + after).encode()
        return page + b"<!--" + b" " * max(0, size - len(page) - 7) + b"-->"

    return made


WORDS = "The bridge was opened to traffic in the spring of 1890. "
HTML: Mapping[str, Callable[[int], bytes]] = {
    "deep div": nested("<div>", "</div>"),
    "deep div, unclosed": again("<div>", after=WORDS),
    "deep span": nested("<span>", "</span>"),
    "deep b and i": again("<b><i>", after=WORDS),
    "deep tables": again("<table><tr><td>", after=WORDS),
    "deep lists": again("<ul><li>", after=WORDS),
    "deep quotations": again("<blockquote>", after=WORDS),
    "deep fonts, misnested": again("<font><p></font>", after=WORDS),
    "deep forms": again("<form><div>", after=WORDS),
    "deep anchors": again("<a href=x>", after=WORDS),
    "open anchors": again("<a "),
    "open angle brackets": again("<", after=WORDS),
    "open ends of tags": again("</", after=WORDS),
    "open comments": again("<!--", after=WORDS),
    "closed comments": again("<!---->", after=WORDS),
    "one comment": again("- ", before="<p>" + WORDS + "<!--"),
    "conditional comments": again("<!--[if IE]>x<![endif]-->", after=WORDS),
    "instructions": again("<?x ?>", after=WORDS),
    "marked sections": again("<![CDATA[<b>]]>", after=WORDS),
    "types": again("<!DOCTYPE html>", after=WORDS),
    "scripts": again("<script>1</script>", after=WORDS),
    "open scripts": again("<script>", before="<p>" + WORDS),
    "data for machines": again('"@type": [', before='<script type="application/ld+json">', after="</script>" + WORDS),
    "forms of data": again(
        '"@type":["a",', before="<p>" + WORDS + '</p><script type="application/ld+json">', after="</script>"
    ),
    "styles": again("<style>p{}</style>", after=WORDS),
    "paragraphs": again(f"<p>{WORDS}</p>"),
    "empty paragraphs": again("<p>", after=WORDS),
    "breaks": again("<br>", before="<p>", after=WORDS),
    "few breaks": elements("<br>", before="<p>", after=WORDS),
    "few breaks between words": elements("a<br>", before="<article><p>", after=WORDS),
    "few paragraphs": elements(f"<p>{WORDS}</p>"),
    "few long paragraphs": elements(f"<p>{WORDS * 10}</p>", 3_000),
    "few rows": elements("<tr><td>a<td>b", 6_000, "<table>", "</table>" + WORDS),
    "few cells of one row": elements("<td>a", before="<table><tr>", after="</table>" + WORDS),
    "few list items": elements("<li>a bridge", before="<ul>", after="</ul>" + WORDS),
    "few links": elements("<a href=/x>a bridge</a> ", before="<p>", after=WORDS),
    "few headings": elements("<h2>Bridge</h2>", after=f"<p>{WORDS * 20}"),
    "few pictures": elements("<img src=x>", before="<p>", after=WORDS),
    "few deep ones": elements("<div>" * 200 + "a bridge" + "</div>" * 200, 90),
    "few named as main": elements(f"<div class='article post content entry-content'>{WORDS}</div>", 9_000),
    "few named as frame": elements("<div class='comment share related sidebar footer nav'>x</div>", after=WORDS * 20),
    "few with many attributes": numbered(
        "<p " + " ".join(f"a{n}=1" for n in range(50)) + ">{}</p>", after=f"<p>{WORDS * 9}</p>"
    ),
    "attributes of one element": numbered(" a{}=1", before="<p", after=">" + WORDS),
    "one value": again("x ", before="<p class='", after="'>" + WORDS),
    "one class of many names": again("comment-x ", before="<div id=a class='", after=f"'>{WORDS * 10}</div>"),
    "embedded picture": again("QUJD", before="<img src='data:image/png;base64,", after="'>" + WORDS),
    "entities": again("&amp;", after=WORDS),
    "entities of tags": again("&lt;b&gt;", after=WORDS),
    "unended entities": again("&", after=WORDS),
    "numbered entities": again("&#x26;#x26;", after=WORDS),
    "blanks by their numbers": again("&#32;&#10;&nbsp;", before="<p>" + WORDS, after="a"),
    "numbers of no character": again("9", before="<p>Opened in 1890 &#", after=";" + WORDS),
    "blanks": again(" \t\n", before="<p>" + WORDS, after="<p>" + WORDS),
    "blanks in a paragraph": again("a \n\t ", before="<p>", after="</p>"),
    "one long word": again("a", before="<p>"),
    "one long line of marks": again(".", before="<p>Opened in 1890"),
    "statements of the head": numbered('<meta name="date{}" content="x">', before="<head>", after=WORDS),
    "links of the head": again("<link rel='canonical' href='javascript:x'>", before="<head>", after=WORDS),
    "titles": again("<title>", before="<head>", after=WORDS),
    "headings in headings": again("<h1>", after=WORDS),
    "vector graphics": again("<svg><path d='M0 0'>", after=WORDS),
    "accents": again("\u0316\u0301", before="<p>" + WORDS * 10),
    "accents, each in an element": again("<b>\u0316\u0301</b>", before="<p>" + WORDS * 10),
    "accents between comments": again("\u0316<!---->\u0301<!---->", before="<p>" + WORDS * 10),
    "open formulas": again("\\(x ", before="<p>" + WORDS * 10),
    "open code": again("`x ", before="<p>" + WORDS * 10),
    "spans of cells": again("<tr><td rowspan=9999 colspan=9999>a", before="<table>", after="</table>" + WORDS),
    "ends of nothing": again("</p>", before="<p>" + WORDS, after=WORDS),
    "attributes with ends of tags": numbered(" a{}='>'", before="<p", after=">" + WORDS),
    "attributes with tags": numbered(" a{}='<p '", before="<p", after=">" + WORDS),
    "choices": again("<option>", before="<select>", after="</select>" + WORDS),
}
FENCE = "---\n"
MARKDOWN: Mapping[str, Callable[[int], bytes]] = {
    "open underscores": again("__a "),
    "open stars": again("**a "),
    "underscores": again("__"),
    "stars": again("*"),
    "stars and underscores": again("**a __b "),
    "open brackets": again("["),
    "open links": again("[a]("),
    "links with open titles": again('[a](b "'),
    "links with long addresses": again("[a](" + "b" * 1_990 + " "),
    "long names of links": again("[" + "a" * 499),
    "pictures of links": again("![![a](b)](c"),
    "open comments": again("<!-- "),
    "ends of comments": again("-->"),
    "open scripts": again("<script "),
    "scripts": again("<script></script>"),
    "front matter of many lines": numbered("k{}: v\n", before=FENCE, after=FENCE + WORDS),
    "front matter without end": again("\n", before=FENCE),
    "rules": again("---\n"),
    "lines of a table": again("|-|-\n", after=WORDS),
    "one line of a table": again("|-", after="\n" + WORDS),
    "headings": again("# a\n"),
    "empty headings": again("###### \n"),
    "one heading": again("# "),
    "fences": again("```\n"),
}
TEXT: Mapping[str, Callable[[int], bytes]] = {
    "open tags": again("<a "),
    "tags of tags": again("<a<b>"),
    "line ends": again("\n"),
    "tabs": again(" \t"),
    "hard blanks": again("\u00a0"),
    "unseen characters": again("\u200b\u202e"),
}
PAGES = [
    HostilePage(f"{suffix[1:]}: {name}", suffix, make)
    for suffix, made in ((".html", HTML), (".md", MARKDOWN), (".txt", TEXT))
    for name, make in made.items()
]
