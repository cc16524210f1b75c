"""A web page as plain text: main text, title, date and address.

Pages are hostile: nothing of one runs or is loaded, no markup is left in its text, and reading takes bounded time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from crag.ingest import html
from crag.ingest.files import FileError
from crag.ingest.plain import parse_markdown
from crag.text.encodings import decode_text
from crag.web.markup import plain_markup, without_raw

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
    date = html.iso_date(page.published or "") or None
    return SavedPage(title=title or fallback_title, text=text, url=_own_address(page.url), published=date)


def _from_html(source: str) -> SavedPage:
    try:
        root, _ = html.parse_page(plain_markup(source))
    except FileError:
        return SavedPage(title="", text=without_raw(source))
    # Beyond some thousand levels of nesting the parser drops what is inside.
    plain = "\n".join(block.text for block in html.walk_page(root)).strip() or without_raw(source)
    links = (link.get("href") for link in root.iter("link") if "canonical" in (link.get("rel") or "").lower().split())
    url = next(filter(_own_address, links), None) or html.find_meta(root).get("og:url")
    page = SavedPage(title=html.find_title(root), text=plain, url=url, published=html.find_date(root))
    main = html.find_main_text(root)
    # trafilatura sometimes takes one paragraph of a small page for all of it.
    return replace(page, text=main) if len(main) >= max(MIN_MAIN, len(plain) // 10) else page


def _from_markdown(source: str) -> SavedPage:
    front, blocks, _ = parse_markdown(without_raw(source[:MAX_SOURCE].replace("\r\n", "\n")))
    found = list(blocks)
    title = front.get("title") or next((block.text for block in found if block.heading), "") or _first_line(source)
    lines = "\n\n".join(block.text for block in found).split("\n")
    text = "\n".join(line for line in lines if not line.startswith(("```", "~~~")))
    text = re.sub(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}(?:\s+\"[^\"\n]{0,200}\")?\)", r"\1", text)
    for strong in _STRONG:
        text = strong.sub(r"\1", text)
    url = front.get("url") or front.get("canonical") or front.get("source_url")
    return SavedPage(title=re.sub(r"[*_`]", "", title), text=text, url=url, published=front.get("date"))


# Up to the next mark and no further: each character is looked at once.
_STRONG = [
    re.compile(rf"{mark}{mark}(?=\S)((?>(?:[^{mark}\n]|{mark}(?!{mark})){{1,500}}))(?<=\S){mark}{mark}")
    for mark in (r"\*", "_")
]


def _first_line(text: str) -> str:
    """The first line that is no longer than a title."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 120 else ""


_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")
_UNPRINTED = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0<>\"'`\\^{|}\ud800-\udfff]")


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


def usable_address(value: object) -> str:
    """The address, if it is one that a browser may be sent to, with every unsafe character escaped; else nothing."""
    url = value.strip()[:2001] if isinstance(value, str) else ""
    url = _UNSAFE.sub(lambda unsafe: quote(unsafe.group(), errors="replace"), url)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and re.fullmatch(r"[\w.:-]+", parts.hostname or "")
        return url if usable and "@" not in parts.netloc and parts.port != 0 and len(url) <= 2000 else ""
    except ValueError:
        return ""


def _own_address(url: str | None) -> str | None:
    """The address that a page states, if it is usable as it is."""
    found = usable_address(url)
    return found or None if url and found == url.strip() else None
