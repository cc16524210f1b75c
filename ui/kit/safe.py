"""Untrusted text made fit to draw: the only way that words of documents, the web or a person reach the page."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

__all__ = ["excerpt", "link", "markdown", "site", "text"]

# Control characters, and the invisible marks that turn the reading direction around and so can disguise a file name.
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def text(value: object) -> str:
    """Any value as HTML text, safe between tags and inside a quoted attribute."""
    return html.escape(_INVISIBLE.sub("", str(value)), quote=True)


def markdown(value: object) -> str:
    """Any value as one line of Markdown in which nothing is markup: for labels and messages of widgets."""
    line = " ".join(_INVISIBLE.sub("", str(value)).split())
    return _PUNCTUATION.sub(r"\\\1", line)


def excerpt(value: object, size: int) -> str:
    """At most `size` characters of one line, cut at a word; not yet escaped."""
    line = " ".join(_INVISIBLE.sub("", str(value)).split())
    if len(line) <= size:
        return line
    return line[: size - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


def link(url: str) -> str | None:
    """The address, escaped for an attribute, if it is a plain http or https one; otherwise None."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return text(url.strip()) if parts.scheme.lower() in ("http", "https") and parts.hostname else None


def site(url: str) -> str:
    """Who published an address: its host, or the file's name where there is no host; not yet escaped."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return parts.hostname or parts.path.rsplit("/", 1)[-1]
