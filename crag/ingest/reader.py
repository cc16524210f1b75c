"""A file's bytes to a ParsedDocument, read in a child process and checked page by page on arrival."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crag.core.config import AppConfig
from crag.core.errors import DamagedError, EmptyError, EncryptedError, LimitError, UnknownMediaError
from crag.core.ingesting import Page, ParsedDocument, TableSpan
from crag.core.metadata import days_in
from crag.core.types import LineBox, Media, Rect
from crag.ingest.identity import safe_name
from crag.ingest.media import NAMES, READERS, media_of, old_office
from crag.ingest.remarks import remarks
from crag.ingest.sandbox import run_child
from crag.ingest.titles import document_title

_MOST_PLACES = 5  # named in a warning
_MOST_COUNTED = 1_000_000  # pages of a file, or words of a page


def checked(data: bytes, name: str, config: AppConfig, told: Media | None = None) -> Media:
    """What the bytes are; `told` where they are no hint.

    Raises EmptyError, LimitError, UnknownMediaError, EncryptedError for what needs no parsing to be refused.
    """
    if not data:
        raise EmptyError(f"{name} is empty.", "Export or download the document again and add that file.")
    if len(data) > config.max_file_mb * 1024 * 1024:
        raise LimitError(f"{name} is {len(data) / 1024 / 1024:.0f} MB large; at most {config.max_file_mb} MB are read.")
    media = told or media_of(data, name)
    if told is None and old_office(data):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise EncryptedError(f"{name} is locked with a password.")
        raise UnknownMediaError(
            f"{name} is in a format of Office that is older than 2007, which is not read here.",
            "Save it as .docx, .pptx, .xlsx or PDF, and add that file.",
        )
    if media is None or media not in READERS:
        known = ", ".join(NAMES[each] for each in READERS)
        raise UnknownMediaError(f"{name} is nothing that can be read here, whatever its name says: {known}.")
    return media


def read_document(
    data: bytes,
    name: str,
    config: AppConfig,
    *,
    on_page: Callable[[int, int], None] | None = None,
    cancel: threading.Event | None = None,
    media: Media | None = None,
) -> ParsedDocument:
    """The document's pages. `on_page(page, pages)` is called as each is read; `cancel` kills the reader at once.

    What the bytes say decides how they are read, not the name; or `media`, where it is known whatever they look like.
    Raises UnknownMediaError, EncryptedError, DamagedError, EmptyError, LimitError, CancelledError.
    """
    label = safe_name(name)
    media = checked(data, label, config, media)
    pages: list[Page] = []
    total, metadata, published = 0, "", ""
    largest: list[tuple[str, float]] = []
    failed: list[int] = []
    cut: list[int] = []
    noted: tuple[str, ...] = ()
    try:
        for message, _ in run_child({"task": "read", "media": media}, data, label, config, cancel):
            if "pages" in message:
                total, metadata = _count(message["pages"], 1), str(message["title"])
                published = str(message.get("published", ""))
                noted = tuple(remarks(message.get("notes", {})))
            elif "page" in message:
                raw = message["page"]
                page = _page(raw, len(pages) + 1)
                pages.append(page)
                if raw["failed"]:
                    failed.append(page.number)
                if raw["cut"]:
                    cut.append(page.number)
                if page.number == 1:
                    largest = [(str(text)[:200], float(height)) for text, height in raw["largest"][:100]]
                if on_page is not None:
                    on_page(page.number, total)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{label} can't be read: the reader's answer made no sense.") from error
    if len(pages) != total:
        raise DamagedError(f"{label} can't be read: only {len(pages)} of {total} pages came.")
    return ParsedDocument(
        title=document_title(_clean(metadata), largest, label, own=media == "html"),
        pages=tuple(pages),
        warnings=(*_warnings(label, pages, failed, cut), *noted),
        kind=media,
        published=published if days_in(published) else "",
    )


def _warnings(label: str, pages: Sequence[Page], failed: Sequence[int], cut: Sequence[int]) -> tuple[str, ...]:
    """What a person should know of the pages. Raises EmptyError or DamagedError when none has text."""
    scanned = [page.number for page in pages if page.scanned]
    unseen = [page for page in pages if page.unseen]
    recognised = [page.number for page in pages if page.recognised]
    if not any(page.text.strip() for page in pages) or len(scanned) == len(pages):
        if scanned:
            raise EmptyError(f"{label} is a scan: {_named(scanned)} {_images(scanned)} without text.")
        if failed:
            raise DamagedError(f"{label} is damaged: {_named(failed)} can't be read.")
        if unseen:
            raise EmptyError(
                f"{label} holds only text that can't be seen ({_words(pages)}{_placed(unseen, ' on ')}).",
                "Open the file in its own program to see what it shows, then try another copy.",
            )
        raise EmptyError(f"{label} has no text on any page.")
    found = []
    if scanned:
        found.append(f"{_named(scanned)} {_images(scanned)} without text.")
    if failed:
        found.append(f"{_named(failed)} can't be read: the file is damaged there.")
    if cut:
        found.append(f"{_named(cut)} too long: only the first part is read.")
    if unseen:
        hold = "holds" if len(unseen) == 1 or unseen[0].by_heading else "hold"
        found.append(f"{_placed(unseen) or 'It'} {hold} text that can't be seen ({_words(pages)}): it was left out.")
    if recognised:
        what = "is a picture" if len(recognised) == 1 else "are pictures"
        behind = "with text from recognition behind"
        found.append(f"{_named(recognised)} {what} {behind}: that text is read, but was not compared with what shows.")
    return tuple(found)


def _images(numbers: Sequence[int]) -> str:
    return "is an image" if len(numbers) == 1 else "are images"


def _words(pages: Sequence[Page]) -> str:
    """How many words can't be seen, as people write it."""
    count = sum(page.unseen for page in pages)
    return "1 word" if count == 1 else f"{count:,} words"


def _named(numbers: Sequence[int]) -> str:
    """Page numbers as people write them: "pages 3, 7-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {text}"


def _placed(pages: Sequence[Page], before: str = "") -> str:
    """Pages as people call them, by number or by their places; nothing for those that have neither."""
    if pages[0].by_heading:
        return ""
    if not pages[0].place:
        return before + _named([page.number for page in pages])
    named = ", ".join(page.place for page in pages[:_MOST_PLACES])
    return before + (f"{named} and {len(pages) - _MOST_PLACES} more" if len(pages) > _MOST_PLACES else named)


def _count(value: Any, least: int) -> int:
    if not isinstance(value, int) or not least <= value <= _MOST_COUNTED:
        raise ValueError("a count that is none")
    return value


def _clean(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e6:
        raise ValueError("a coordinate off any page")
    return number


def _page(raw: Mapping[str, Any], expected: int) -> Page:
    """A page from the child's plain values. Raises KeyError, TypeError, ValueError for what is none."""
    if raw["number"] != expected:
        raise ValueError("pages out of order")
    text = str(raw["text"])
    text.encode("utf-8")  # a lone surrogate would fail later, in the database
    size = len(text)
    lines = []
    for start, end, left, top, right, bottom in raw["lines"]:
        _span(start, end, size)
        rect = Rect(page=expected, left=_number(left), top=_number(top), right=_number(right), bottom=_number(bottom))
        lines.append(LineBox(start=start, end=end, rect=rect))
    tables = []
    for start, end, header in raw["tables"]:
        _span(start, end, size)
        tables.append(TableSpan(start=start, end=end, header=str(header)))
    headings = []
    for start, heading in raw["headings"]:
        _span(start, size, size)
        headings.append((start, str(heading)))
    return Page(
        number=expected,
        text=text,
        width=_number(raw["width"]),
        height=_number(raw["height"]),
        lines=tuple(lines),
        tables=tuple(tables),
        headings=tuple(headings),
        scanned=bool(raw["scanned"]),
        unseen=_count(raw["unseen"], 0),
        recognised=bool(raw["recognised"]),
        place=_clean(str(raw["place"])),
        by_heading=bool(raw["by_heading"]),
    )


def _span(start: Any, end: Any, size: int) -> None:
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= size):
        raise ValueError("a span outside its page")
