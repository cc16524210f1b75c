"""Bare addresses in text, of which many readers of Markdown make links though nothing marks them as such."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

JOINER = "\u2060"
"""Nobody sees it, and no reader of Markdown looks through it. Through a backslash some do: they look at the text that
is left when all escapes are read, as Streamlit does."""

_FILE = (
    r"(?:pdf|html?|docx|pptx|xlsx|rtf|epub|od[tsp]|eml|msg|csv|tsv|txt|jsonl?|log|gguf|png|jpe?g|tiff?|webp|bmp)"
    r"(?![\w.:/@?#-])"
)
"""Ends the name of a file, and of no host: none of these is a top-level domain (as md and zip are)."""
ADDRESS = rf"(?:(?<=\w)://|@(?=\w)|(?<=www)\.|(?<=\w)\.(?!{_FILE})(?=[^\W\d_]))"
"""What parts an address, which is none without it: behind a scheme, before a host, within one."""
_ADDRESS = re.compile(ADDRESS, re.IGNORECASE)
_ON_PAGES = re.compile(r"(?<=\w)://|(?<=\bwww)\.|(?<=[\w.+-])@(?=[\w-]{1,63}\.)", re.IGNORECASE)
"""What parts an address that Streamlit makes a link of: a bare host is none there, so names of files stay whole."""
UNFINISHED = re.compile(r"(?:[@.]\w{0,4}|:/?)\Z")
"""The end of a text of which only what follows says whether it is such a part."""


def break_addresses(text: str) -> str:
    """The text with word joiners round what parts each bare address: it reads the same and becomes no link."""
    return _ADDRESS.sub(f"{JOINER}\\g<0>{JOINER}", text)


def break_page_addresses(text: str) -> str:
    """The same of those alone that Streamlit makes a link of."""
    return _ON_PAGES.sub(f"{JOINER}\\g<0>{JOINER}", text)


_MOST_STATED = 300
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0<>\"'`\\^{|}\ud800-\udfff]")


def stated_address(value: object) -> str:
    """The address that a page states, if it is usable as it is, and no longer than a property; else nothing."""
    found = usable_address(value)
    return found if isinstance(value, str) and found == value.strip() and len(found) <= _MOST_STATED else ""


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
