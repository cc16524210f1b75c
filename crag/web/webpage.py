"""A saved page, hostile until proven otherwise, to plain text: main text, title, date and address.

Nothing of a page is ever executed or loaded, and no markup is left in what comes out.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    HtmlElement = Any  # lxml's, which carries no types

from crag.text.encodings import decode_text
from crag.web.markup import plain_markup, without_raw

log = logging.getLogger(__name__)

MAX_TEXT = 60_000
"""Characters of a page's text that are kept: some 10,000 words."""
MAX_TITLE = 200
MAX_SOURCE = 5 * MAX_TEXT
"""Characters of a text or Markdown page that are looked at, and of any text before its remains of tags are removed."""
MAX_DEPTHS, MAX_CHILDREN = 200_000, 3_000
"""Of the depths of all elements together, and of one element's children: above, the main text is not looked for."""
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
    text = _plain(page.text[:MAX_SOURCE])[:MAX_TEXT].rstrip()
    if not any(character.isalnum() for character in text):
        raise ValueError("it holds no text")
    title = " ".join(_plain(page.title[: 10 * MAX_TITLE]).split())[:MAX_TITLE].strip()
    # A page that opens with its own title says it twice; as evidence it is none.
    first, _, rest = text.partition("\n")
    text = rest.lstrip() if rest.strip() and first.strip("# ") and title.startswith(first.strip("# ")) else text
    return SavedPage(title=title or fallback_title, text=text, url=_address(page.url), published=_date(page.published))


def _from_html(source: str) -> SavedPage:
    # Imported here: a run that searches no saved pages should not pay for it.
    from trafilatura import load_html

    root = load_html(plain_markup(source))
    if root is None:
        return SavedPage(title="", text=without_raw(source))
    # Beyond some hundred levels of nesting the parser drops what is inside.
    plain = _visible_text(root).strip() or without_raw(source)
    page = SavedPage(title=_title(root), text=plain, url=_own_address(root), published=_find_publication_date(root))
    main = _main_text(root)
    # The extractor sometimes takes one paragraph of a small page for all of it.
    return replace(page, text=main) if len(main) >= max(MIN_MAIN, len(plain) // 10) else page


def _main_text(root: HtmlElement) -> str:
    """The main text without navigation and advertisement, or nothing where none is found. Changes the tree."""
    from trafilatura import extract

    if _overgrown(root):
        return ""
    try:
        return extract(root, include_comments=False, include_tables=True, favor_recall=True) or ""
    except Exception as error:  # noqa: BLE001 - hostile pages break the extractor in many ways; the plain text stands in
        log.info("main text extraction failed with %s; the plain text is used", type(error).__name__)
        return ""


def _overgrown(root: HtmlElement) -> bool:
    """Whether the tree is one that no writer makes, and that the extractor takes seconds for: too wide or too deep."""
    waiting, together = [(root, 1)], 0
    while waiting:
        element, depth = waiting.pop()
        together += depth
        if together > MAX_DEPTHS or len(element) > MAX_CHILDREN:
            return True
        waiting.extend((child, depth + 1) for child in element)
    return False


_SILENT = frozenset(
    "script style noscript template svg math iframe object embed applet canvas audio video select textarea button "
    "nav head title".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hr html li main ol p pre section summary table tbody tfoot thead tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_DATES = frozenset(
    "article:published_time og:published_time date dc.date dc.date.issued dcterms.date dcterms.issued "
    "datepublished publish-date pubdate citation_publication_date".split()
)


def _visible_text(root: HtmlElement) -> str:
    """The text a reader would see, blocks on lines of their own. Not recursive: nesting can't exhaust the stack."""
    parts: list[str] = []
    size = 0
    waiting: list[tuple[HtmlElement, bool]] = [(root, True)]
    while waiting and size < 2 * MAX_TEXT:
        element, opens = waiting.pop()
        tag = element.tag if isinstance(element.tag, str) else "script"
        mark = "\n" if tag in _BLOCKS else "\t" if tag in _CELLS else ""
        if opens and tag not in _SILENT:
            parts += [mark, re.sub(r"\s+", " ", element.text or "")]
            waiting.append((element, False))
            waiting.extend((child, True) for child in reversed(element))
        else:
            parts += [mark, re.sub(r"\s+", " ", element.tail or "")]
        size += len(parts[-1])
    return "".join(parts)


def _title(root: HtmlElement) -> str:
    """What the page calls itself: for sharing, in its head, or in its first heading."""
    named = _meta(root).get("og:title")
    return named or next(("".join(found.itertext()) for tag in ("title", "h1") for found in root.iter(tag)), "")


def _own_address(root: HtmlElement) -> str | None:
    links = (link.get("href") for link in root.iter("link") if "canonical" in (link.get("rel") or "").lower().split())
    return next((url for url in links if _address(url)), None) or _meta(root).get("og:url")


def _find_publication_date(root: HtmlElement) -> str | None:
    dates = (value for name, value in _meta(root).items() if name in _DATES)
    return next(dates, None) or next((found.get("datetime") for found in root.iter("time")), None)


def _meta(root: HtmlElement) -> dict[str, str]:
    """The page's statements about itself, the first of each name."""
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        found.setdefault(name.strip().lower(), meta.get("content") or "")
    return found


_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def _from_markdown(source: str) -> SavedPage:
    source = source[:MAX_SOURCE].replace("\r\n", "\n")
    front = _FRONT.match(source)
    given: dict[str, str] = {}
    if front:
        for line in front.group(1).split("\n"):
            name, colon, value = line.partition(":")
            if colon and name.strip():
                given.setdefault(name.strip().lower(), value.strip().strip("\"'"))
        source = source[front.end() :]
    text = without_raw(re.sub(r"<!--.*?(?:-->|\Z)", " ", source, flags=re.DOTALL))
    # Line by line and without nested repetition: the time stays linear whatever the text.
    lines = [line.strip() for line in text.split("\n") if not line.startswith(("```", "~~~"))]
    lines = [line for line in lines if not (set(line) <= set("|:- ") and "--" in line and "|" in line)]
    headings = [line for line in lines if re.match(r"#{1,6}[ \t]", line)]
    title = given.get("title") or (headings[0].strip("# \t") if headings else "") or _first_line(source)
    text = "\n".join(line.strip("# \t") if re.match(r"#{1,6}[ \t]", line) else line for line in lines)
    text = re.sub(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}(?:\s+\"[^\"\n]{0,200}\")?\)", r"\1", text)
    for strong in _STRONG:
        text = strong.sub(r"\1", text)
    url = given.get("url") or given.get("canonical") or given.get("source_url")
    return SavedPage(title=re.sub(r"[*_`]", "", title), text=text, url=url, published=given.get("date"))


# Up to the next mark and no further: each character is looked at once.
_STRONG = [
    re.compile(rf"{mark}{mark}(?=\S)((?:[^{mark}\n]|{mark}(?!{mark})){{1,500}}+)(?<=\S){mark}{mark}")
    for mark in (r"\*", "_")
]


def _first_line(text: str) -> str:
    """The first line that is no longer than a title."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 120 else ""


_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")


def _plain(text: str) -> str:
    """Text without control characters, tag-like remains and runs of white space; paragraphs stay lines."""
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", "", text)
    for _ in range(3):
        # Removing an inner tag may complete an outer one.
        text, removed = _TAG.subn(" ", text)
        if not removed:
            break
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)
    text = re.sub(r"[ \u00a0\v\f\r]+", " ", text)
    lines = (re.sub(r" ?\t[ \t]*", "\t", line).strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _address(url: str | None) -> str | None:
    """The address if it is one a browser may be sent to."""
    if not url or len(url) > 2000 or re.search(r"[\s\x00-\x1f\x7f<>\"'`\\]", url.strip()):
        return None
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return None
    return url.strip() if usable else None


def _date(value: str | None) -> str | None:
    """The ISO date, month or year at the start of a value."""
    match = re.match(r"(\d{4})(-(?:0[1-9]|1[0-2])(-(?:0[1-9]|[12]\d|3[01]))?)?(?![\d-])", (value or "").strip())
    return match.group() if match else None
