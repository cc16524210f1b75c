"""A web page as plain text: main text, title, date and address.

Pages are hostile: each is read by the reader of documents in a child process without a network, under limits on memory
and processor time, and no markup is left in its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from crag.core.config import AppConfig
from crag.core.errors import DocumentError, EmptyError
from crag.core.types import Media
from crag.ingest.sandbox import Limits, run_child
from crag.text.addresses import stated_address
from crag.text.words import few_marks, unmarked

MAX_TEXT = 60_000
"""Characters of a page's text that are kept: some 10,000 words."""
MAX_TITLE = 200
MAX_SOURCE = 5 * MAX_TEXT
"""Characters of a text before its remains of tags are removed."""
_LIMITS = Limits(what="a web page's", memory_mb=512, seconds=4)
_KINDS: dict[str, Media] = {".html": "html", ".htm": "html", ".md": "markdown", ".txt": "text"}
_MOST_PARTS = 100
"""Of a page, each of some thousand characters: more than are kept."""


@dataclass(frozen=True, slots=True)
class SavedPage:
    """`url` only if the page names its own http(s) address; `published` an ISO date, year or month, if known."""

    title: str
    text: str
    url: str | None = None
    published: str | None = None


def read_page(data: bytes, suffix: str, fallback_title: str) -> SavedPage:
    """The page in the bytes of a file whose name ends in `suffix` (.html, .htm, .md, .txt).

    Raises ValueError, saying why, where the bytes hold no text, or reading it takes too much.
    """
    job = {"task": "read", "media": _KINDS[suffix]}
    try:
        frames = run_child(job, data, "The page", AppConfig(), limits=_LIMITS)
        about, *parts = (message for message, _ in islice(frames, 1 + _MOST_PARTS))
    except EmptyError as error:
        raise ValueError("it holds no text") from error
    except DocumentError as error:
        raise ValueError("it can't be read, or takes too much to read") from error
    written = "\n".join(part["page"]["text"] for part in parts if "page" in part).replace("\n\n", "\n")
    text = plain_text(unmarked(few_marks(written[:MAX_SOURCE])))[:MAX_TEXT].rstrip()
    if not any(character.isalnum() for character in text):
        raise ValueError("it holds no text")
    said = about["title"] or (_first_line(text) if suffix not in (".html", ".htm") else "")
    title = " ".join(plain_text(said[: 10 * MAX_TITLE]).split())[:MAX_TITLE].strip()
    # A page that opens with its own title says it twice; as evidence it is none.
    first, _, rest = text.partition("\n")
    text = rest.lstrip() if rest.strip() and first.strip("# ") and title.startswith(first.strip("# ")) else text
    address = stated_address(about["properties"].get("address")) or None
    return SavedPage(title=title or fallback_title, text=text, url=address, published=about["published"] or None)


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
