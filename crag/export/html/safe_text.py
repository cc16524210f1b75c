"""Untrusted text made fit to draw: words of documents, the web or a person, as they reach the page."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

from crag.text.addresses import break_page_addresses

# Control characters, the invisible marks that turn the reading direction around and so can disguise a file name, and
# halves of characters, which no page can be sent.
_UNSEEN = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
INVISIBLE = re.compile(f"[{_UNSEEN}]")
_MARKED = re.compile(f"[&<>\"'{_UNSEEN}]")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def visible(value: object) -> str:
    """Any value as text without what would act on a page unseen; not yet escaped."""
    return INVISIBLE.sub("", str(value))


def escaped(value: object) -> str:
    """Any value as text between the tags of HTML, or inside a quoted attribute."""
    said = str(value)
    return html.escape(visible(said), quote=True) if _MARKED.search(said) else said


def markdown(value: object) -> str:
    """Any value as one line of Markdown in which nothing is markup or a link: for labels and messages of widgets."""
    return _PUNCTUATION.sub(r"\\\1", break_page_addresses(" ".join(visible(value).split())))


def excerpt(value: object, size: int) -> str:
    """At most `size` characters of one line, cut at a word; not yet escaped."""
    line = " ".join(visible(value).split())
    if len(line) <= size:
        return line
    return line[: size - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


def link(url: str) -> str | None:
    """The address, if it is a plain http or https one; otherwise None."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return url.strip() if parts.scheme.lower() in ("http", "https") and parts.hostname else None


def site(url: str) -> str:
    """Who published an address: its host, or the file's name where there is no host; not yet escaped."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return parts.hostname or parts.path.rsplit("/", 1)[-1]
