"""A saved page, hostile until proven otherwise, to plain text: main text, title, date and address.

Nothing of a page is ever executed or loaded, and no markup is left in what comes out.
"""

from __future__ import annotations

import codecs
import logging
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlsplit

__all__ = ["SavedPage", "read_page"]

log = logging.getLogger(__name__)

MAX_TEXT = 60_000
"""Characters of a page's text that are kept: some 10,000 words."""
MAX_TITLE = 200
MAX_PARSED = 1_000_000
"""Above this many characters of HTML only the plain reader is used: its time grows with the size, no faster."""
MIN_MAIN = 80
"""A main text below this many characters is compared with what the plain reader finds."""


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
    source = _decoded(data)
    if suffix in (".html", ".htm"):
        page = _from_html(source)
    elif suffix == ".md":
        page = _from_markdown(source)
    else:
        page = SavedPage(title=_first_line(source), text=source)
    text = _plain(page.text)[:MAX_TEXT].rstrip()
    if not any(character.isalnum() for character in text):
        raise ValueError("it holds no text")
    title = " ".join(_plain(page.title).split())[:MAX_TITLE].strip()
    return SavedPage(title=title or fallback_title, text=text, url=_address(page.url), published=_date(page.published))


def _decoded(data: bytes) -> str:
    """Text by byte order mark, declared charset, UTF-8, then Windows-1252. Raises ValueError for binary bytes."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, errors="replace").lstrip("\ufeff")
    if b"\x00" in data[:4096]:
        raise ValueError("it is binary, not text")
    declared = re.search(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{2,40})""", data[:4096], re.IGNORECASE)
    for encoding in (declared.group(1).decode("ascii") if declared else "utf-8", "utf-8", "cp1252"):
        try:
            if codecs.lookup(encoding)._is_text_encoding:
                return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("utf-8", errors="replace")


def _from_html(source: str) -> SavedPage:
    reader = _Reader()
    reader.feed(source)
    reader.close()
    plain = reader.text()
    main = _main_text(source) if len(source) <= MAX_PARSED else ""
    # The extractor sometimes takes one paragraph of a small page for all of it.
    text = main if len(main) >= max(MIN_MAIN, len(plain) // 10) else plain
    return SavedPage(title=reader.title(), text=text, url=reader.url(), published=reader.published())


def _main_text(source: str) -> str:
    """The main text without navigation and advertisement, or nothing where none is found."""
    # Imported here: it takes most of a second, which only a run that searches saved pages should pay.
    from trafilatura import extract

    try:
        return extract(source, include_comments=False, include_tables=True, favor_recall=True) or ""
    except Exception as error:  # noqa: BLE001 - hostile pages break the parser in many ways; the plain reader goes on
        log.info("main text extraction failed with %s; the plain reader is used", type(error).__name__)
        return ""


_SILENT = frozenset(
    "script style noscript template svg math iframe object embed applet canvas audio video select textarea button "
    "nav form head".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer h1 h2 h3 "
    "h4 h5 h6 header hr html li main ol p pre section summary table tbody tfoot thead tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_DATES = frozenset(
    "article:published_time og:published_time date dc.date dc.date.issued dcterms.date dcterms.issued "
    "datepublished publish-date pubdate citation_publication_date".split()
)


class _Reader(HTMLParser):
    """Collects head data and visible text. Never recursive, so nesting can't exhaust the stack."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._title: list[str] = []
        self._heading: list[str] = []
        self._meta: dict[str, str] = {}
        self._canonical: str | None = None
        self._time: str | None = None
        self._silent = 0
        self._within: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta":
            name = (given.get("property") or given.get("name") or given.get("itemprop") or "").strip().lower()
            self._meta.setdefault(name, given.get("content", ""))
        elif tag == "link" and "canonical" in given.get("rel", "").lower().split():
            self._canonical = self._canonical or given.get("href")
        elif tag == "time":
            self._time = self._time or given.get("datetime")
        elif tag == "title" or (tag == "h1" and not self._heading):
            self._within = tag
        if tag in _SILENT:
            # A document without </head> still has a body.
            self._silent += 1
        elif tag == "body":
            self._silent = 0
        self._break(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        if tag == self._within:
            self._within = None
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._within == "title":
            self._title.append(data)
        elif not self._silent:
            self._parts.append(re.sub(r"\s+", " ", data))
            if self._within == "h1":
                self._heading.append(data)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._parts.append("\n")
        elif tag in _CELLS:
            self._parts.append("\t")

    def text(self) -> str:
        return "".join(self._parts)

    def title(self) -> str:
        return self._meta.get("og:title") or "".join(self._title) or "".join(self._heading)

    def url(self) -> str | None:
        return _address(self._canonical) or self._meta.get("og:url")

    def published(self) -> str | None:
        return next((self._meta[name] for name in self._meta if name in _DATES), None) or self._time


_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def _from_markdown(source: str) -> SavedPage:
    source = source.replace("\r\n", "\n")
    front = _FRONT.match(source)
    given: dict[str, str] = {}
    if front:
        for line in front.group(1).split("\n"):
            name, colon, value = line.partition(":")
            if colon and name.strip():
                given.setdefault(name.strip().lower(), value.strip().strip("\"'"))
        source = source[front.end() :]
    heading = re.search(r"^#{1,2}\s+(.+?)\s*#*$", source, re.MULTILINE)
    title = given.get("title") or (heading.group(1) if heading else "") or _first_line(source)
    text = _without_scripts(re.sub(r"<!--.*?(?:-->|\Z)", " ", source, flags=re.DOTALL))
    text = re.sub(r"^(?:```|~~~).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}(?:\s+\"[^\"\n]{0,200}\")?\)", r"\1", text)
    text = re.sub(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t]*:?-*:?[ \t]*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1", r"\2", text)
    url = given.get("url") or given.get("canonical") or given.get("source_url")
    return SavedPage(title=re.sub(r"[*_`]", "", title), text=text, url=url, published=given.get("date"))


_SCRIPT = re.compile(r"<(/?)(?:script|style)\b[^<>]*>", re.IGNORECASE)


def _without_scripts(source: str) -> str:
    """The source without closed script and style elements; in time linear in its length, whatever is unclosed."""
    parts, place, opened = [], 0, -1
    for match in _SCRIPT.finditer(source):
        if match.group(1):
            if opened >= 0:
                parts.append(source[place:opened])
                place, opened = match.end(), -1
        elif opened < 0:
            opened = match.start()
    return " ".join([*parts, source[place:]])


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
    lines = (re.sub(r"[ \u00a0\f\v\r]+", " ", re.sub(r" *\t[ \t]*", "\t", line)).strip() for line in text.split("\n"))
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
