"""A page's source as a small, plain page that a parser and an extractor read in bounded time.

Both have patterns whose time grows with the square of what they are given, in places that change from version to
version. So neither sees the source: it is taken apart here in one pass that never looks back, by the rules by which
browsers find tags, and of each kind of thing only so much is written again.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import islice

from crag.text.words import few_marks, unmarked

MAX_SOURCE = 1_500_000
"""Characters of the source that are looked at: most of a large page is scripts, styles and pictures."""
MAX_TEXT = 200_000
"""Characters of text that are written again, of the frame and the titles too."""
MAX_WORD = 1_000
"""Characters without a blank that are text. Longer ones are data."""
MAX_ELEMENTS = 20_000
MAX_PIECES = 4 * MAX_ELEMENTS
"""Tags and comments. Of what follows these, only the text is written again."""
MAX_ATTRIBUTES = 12
"""Of one element that are written again; so many times four are looked at."""
MAX_VALUE, MAX_CONTENT = 300, 2_000
"""Characters of a value, and of what a page states of itself."""
MAX_ADDRESS = 8_000
"""Of an address, which is left out where it is longer: a part of it is another address."""

# Possessive throughout, and every tag ends with the source at the latest: no part is read twice.
_PIECE = re.compile(
    r"""
    <!--(?:-?>|.*?(?:--!?>|\Z))                                 # a comment
    | <(?P<end>/?)(?P<name>[a-z][^\s/>]*+)                      # a tag
      (?P<attributes>(?>(?:[\s/]++|[^\s/>][^\s/>=]*+(?>(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+))?))*))(?:>|\Z)
    | <[!?/][^>]*+(?:>|\Z)                                      # what browsers take for a comment
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(
    r"""([^\s/>][^\s/>=]*+)(?>(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?)""", re.IGNORECASE
)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.IGNORECASE)
_KEPT = frozenset(
    "class id role style itemprop property name rel href content datetime hidden aria-hidden data-component "
    "data-testid bgcolor color colspan".split()
)
_RAW = frozenset("script style textarea title xmp iframe noembed noframes".split())
"""Elements that hold no tags but their own end."""
_BLANKS = re.compile(r"\s{2,}")
_WORD = re.compile(r"[!-~]++")
_OVERLONG = re.compile(r"&#x?[0-9a-f]{8,}+;?", re.IGNORECASE)
"""Numbers of no character; Python's own reader of them refuses those of thousands of digits with an error."""


def plain_markup(source: str) -> str:
    """The page without scripts, styles, comments and what is over the limits; its tags are well formed."""
    source = source[:MAX_SOURCE]
    parts = ["<html>"]
    place = size = elements = pieces = 0
    ends = _Ends(source)
    while size < MAX_TEXT:
        found = _PIECE.search(source, place)
        text = _text(source[place : found.start() if found else None])[: MAX_TEXT - size]
        parts.append(text)
        size += len(text)
        if found is None:
            break
        place = found.end()
        pieces += 1
        if pieces > MAX_PIECES or elements == MAX_ELEMENTS:
            parts.append(_text(_PIECE.sub("\n", without_raw(source[place:])))[: MAX_TEXT - size])
            break
        name = (found["name"] or "").lower()
        if not _NAME.fullmatch(name) or name in ("html", "plaintext"):
            continue
        if found["end"]:
            parts.append(f"</{name}>" if name not in _RAW else "")
            continue
        elements += 1
        if name not in _RAW:
            parts.append(f"<{name}{_attributes(found['attributes'])}>")
        elif end := ends.after(name, place):
            if name == "title":
                parts.append(f"<title>{_text(source[place : end[0]][:MAX_CONTENT])}</title>")
            place = end[1]
        elif name != "title":
            break
    return "".join([*parts, "</html>"])


def without_raw(source: str) -> str:
    """The source without its scripts and styles that are closed."""
    source = source[:MAX_SOURCE]
    parts, place = [], 0
    ends = _Ends(source)
    for found in re.finditer(r"<(script|style)(?=[\s/>])", source, re.IGNORECASE):
        if found.start() >= place and (end := ends.after(found[1].lower(), found.end())):
            parts.append(source[place : found.start()])
            place = end[1]
    return " ".join([*parts, source[place:]])


class _Ends:
    """Where elements end that hold no tags. A name without another end is looked for once."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._none: set[str] = set()

    def after(self, name: str, place: int) -> tuple[int, int] | None:
        """Start and end of the next end tag of that name; None where there is no more."""
        if name in self._none:
            return None
        found = re.compile(rf"</{name}(?=[\s/>])[^>]*+>?", re.IGNORECASE).search(self._source, place)
        if found is None:
            self._none.add(name)
        return found.span() if found else None


def _text(source: str) -> str:
    """Text with its entities as characters, runs of blanks as one, long data as nothing, and no sign of a tag."""
    text = unmarked(few_marks(unescape(_OVERLONG.sub("\ufffd", source[: 2 * MAX_TEXT]))))
    text = _BLANKS.sub(lambda blanks: "\n" if "\n" in blanks[0] else " ", text)
    if len(text) > MAX_WORD:
        text = _WORD.sub(lambda word: word[0] if len(word[0]) <= MAX_WORD else " ", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attributes(source: str) -> str:
    """The attributes that tell what an element is, each once, with their values cut."""
    kept: dict[str, str] = {}
    for found in islice(_ATTRIBUTE.finditer(source), 4 * MAX_ATTRIBUTES):
        name = found[1].lower()
        if name in _KEPT and name not in kept and len(kept) < MAX_ATTRIBUTES:
            value = next((each for each in found.groups()[1:] if each is not None), "")
            if name == "href" and len(value) > MAX_ADDRESS:
                continue
            # Entities stay as they are written: in an address, &copy= is none, and a parser knows that.
            value = value if name == "href" else value[: MAX_CONTENT if name == "content" else MAX_VALUE]
            kept[name] = value.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f' {name}="{value}"' for name, value in kept.items())
