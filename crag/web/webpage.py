"""A web page as plain text: main text, title, date and address.

Pages are hostile: nothing of one runs or is loaded, no markup is left in its text, and reading takes bounded time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice

from crag.ingest import html, properties
from crag.ingest.files import FileError
from crag.ingest.plain import render_markdown
from crag.text.addresses import usable_address
from crag.text.encodings import decode_text
from crag.text.words import few_marks, unmarked

MAX_MARKUP = 1_500_000
"""Characters of the source that are looked at: most of a large page is scripts, styles and pictures."""
MAX_MARKUP_TEXT = 200_000
"""Characters of text that are written again, of the frame and the titles too."""
MAX_WORD = 1_000
"""Characters without a blank that are text. Longer ones are data."""
MAX_ELEMENTS = 20_000
MAX_PIECES = 4 * MAX_ELEMENTS
"""Tags and comments. Of what follows these, only the text is written again."""
MAX_ATTRIBUTES = 12
"""Of one element that are written again; four times as many are looked at."""
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
    source = source[:MAX_MARKUP]
    parts = ["<html>"]
    place = size = elements = pieces = 0
    ends = _Ends(source)
    while size < MAX_MARKUP_TEXT:
        found = _PIECE.search(source, place)
        text = _text(source[place : found.start() if found else None])[: MAX_MARKUP_TEXT - size]
        parts.append(text)
        size += len(text)
        if found is None:
            break
        place = found.end()
        pieces += 1
        if pieces > MAX_PIECES or elements == MAX_ELEMENTS:
            parts.append(_text(_PIECE.sub("\n", without_raw(source[place:])))[: MAX_MARKUP_TEXT - size])
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
    source = source[:MAX_MARKUP]
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
    text = unmarked(few_marks(unescape(_OVERLONG.sub("\ufffd", source[: 2 * MAX_MARKUP_TEXT]))))
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


MAX_TEXT = 60_000
"""Characters of a page's text that are kept: some 10,000 words."""
MAX_TITLE = 200
MAX_SOURCE = 5 * MAX_TEXT
"""Characters of a text or Markdown page that are looked at, and of any text before its remains of tags are removed."""
MIN_MAIN = 80
"""A main text below this many characters is no better than all visible text."""


@dataclass(frozen=True, slots=True)
class SavedPage:
    """`url` only if the page names its own http(s) address; `published` an ISO date, year or month, if known."""

    title: str
    text: str
    url: str | None = None
    published: str | None = None


def read_page(data: bytes, suffix: str, fallback_title: str) -> SavedPage:
    """The page in the bytes of a file whose name ends in `suffix` (.html, .htm, .md, .txt).

    Raises ValueError, saying why, where the bytes hold no text.
    """
    source = decode_text(data)
    if suffix in (".html", ".htm"):
        page = _from_html(source)
    elif suffix == ".md":
        page = _from_markdown(source)
    else:
        page = SavedPage(title=_first_line(source[:MAX_SOURCE]), text=source)
    text = plain_text(page.text[:MAX_SOURCE])[:MAX_TEXT].rstrip()
    if not any(character.isalnum() for character in text):
        raise ValueError("it holds no text")
    title = " ".join(plain_text(page.title[: 10 * MAX_TITLE]).split())[:MAX_TITLE].strip()
    # A page that opens with its own title says it twice; as evidence it is none.
    first, _, rest = text.partition("\n")
    text = rest.lstrip() if rest.strip() and first.strip("# ") and title.startswith(first.strip("# ")) else text
    date = properties.day(page.published or "") or None
    return SavedPage(title=title or fallback_title, text=text, url=_own_address(page.url), published=date)


def _from_html(source: str, *, framed: bool = True) -> SavedPage:
    """A page of HTML. `framed`: its main text stands amid menus and the like."""
    try:
        root, _ = html.parse_page(plain_markup(source))
    except FileError:
        return SavedPage(title="", text=without_raw(source))
    # Beyond some thousand levels of nesting the parser drops what is inside.
    plain = "\n".join(block.text for block in html.walk_page(root)).strip() or without_raw(source)
    links = (link.get("href") for link in root.iter("link") if "canonical" in (link.get("rel") or "").lower().split())
    url = next(filter(_own_address, links), None) or html.find_meta(root).get("og:url")
    page = SavedPage(title=html.find_title(root), text=plain, url=url, published=html.find_date(root))
    main = html.find_main_text(root) if framed else ""
    # trafilatura sometimes takes one paragraph of a small page for all of it.
    return replace(page, text=main) if len(main) >= max(MIN_MAIN, len(plain) // 10) else page


def _from_markdown(source: str) -> SavedPage:
    # Cells are its dearest elements: those that would not be written again are not made.
    cells = source[:MAX_TEXT].replace("\r\n", "\n").split("|", MAX_ELEMENTS // 2)[: MAX_ELEMENTS // 2]
    front, markup, _ = render_markdown("|".join(cells))
    page = _from_html(markup, framed=False)
    return SavedPage(
        title=front.get("title") or page.title or _first_line(page.text),
        text=page.text,
        url=front.get("url") or front.get("canonical") or front.get("source_url"),
        published=front.get("date"),
    )


def _first_line(text: str) -> str:
    """The first line that is no longer than a title."""
    line, *_ = text.strip().splitlines() or [""]
    return line.strip() if len(line) <= 120 else ""


_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")
_UNPRINTED = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def plain_text(text: str) -> str:
    """Text without control characters, remains of tags and runs of white space; paragraphs stay lines."""
    text = _UNPRINTED.sub("", text)
    for _ in range(3):
        # Removing an inner tag may complete an outer one.
        text, removed = _TAG.subn(" ", text)
        if not removed:
            break
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)
    text = re.sub(r"[ \u00a0\v\f\r]+", " ", text)
    lines = (re.sub(r" ?\t[ \t]*", "\t", line).strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _own_address(url: str | None) -> str | None:
    """The address that a page states, if it is usable as it is."""
    found = usable_address(url)
    return found or None if url and found == url.strip() else None
