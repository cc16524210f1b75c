"""A file's bytes to a ParsedDocument, read in a child process and checked page by page on arrival."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from crag.core.config import AppConfig
from crag.core.errors import (
    DamagedError,
    DocumentError,
    EmptyError,
    EncryptedError,
    LimitError,
    SettingsError,
    UnknownMediaError,
)
from crag.core.ingesting import Attachment, Cut, Page, ParsedDocument
from crag.core.metadata import DATES, days_in
from crag.core.tables import load_tables
from crag.core.types import LineBox, Media, Rect
from crag.ingest import scans
from crag.ingest.files import NAMES, READERS, foreign_kind, is_locked_office, media_of, safe_name
from crag.ingest.sandbox import Frame, recognising, run_child
from crag.ingest.scans import format_pages
from crag.ingest.sections import ComposedPage
from crag.ingest.titles import LONGEST_TITLE, document_title
from crag.text.formats import count

_LEFT_OUT: Mapping[str, tuple[str, str]] = {
    "deleted": ("word", " that its tracked changes delete"),
    "comments": ("comment", ""),
    "remarks": ("comment", " in its source"),
    "hidden slides": ("hidden slide", ""),
    "hidden sheets": ("hidden sheet", ""),
    "hidden rows": ("hidden row", ""),
    "hidden columns": ("hidden column", ""),
    "pictures": ("picture", " in its text"),
    "objects": ("embedded object", ""),
}


def remarks(notes: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each thing that the reader noted; what it noted as 0 is nothing. Raises ValueError, TypeError."""
    for what, (noun, rest) in _LEFT_OUT.items():
        number = int(notes.get(what, 0))
        if number > 0:
            yield f"It holds {count(number, noun)}{rest}: {'it was' if number == 1 else 'they were'} left out."
    if unread := [str(each)[:_MOST_NAME] for each in notes.get("unread", ())]:
        more = f" and {len(unread) - _MOST_PLACES} more" if len(unread) > _MOST_PLACES else ""
        yield f"Of what is attached, this is not read: {', '.join(unread[:_MOST_PLACES])}{more}."
    if notes.get("macros"):
        yield "It holds macros: they are not run and not read."
    if notes.get("deep"):
        yield "Some of it is nested too deeply to be read."
    for sheet, number in notes.get("formulas", ()):
        formulas = count(int(number), "formula")
        yield f"Sheet {str(sheet)[:60]} holds {formulas} without a stored value: save it in Excel, and add it again."
    if encoding := notes.get("encoding"):
        yield f"It does not say its encoding; {str(encoding)[:20]} is a guess. If letters are wrong, save it as UTF-8."
    if cut := notes.get("cut"):
        yield f"Only its first part is read: what follows {str(cut)[:120]} is over the limits."


_NOTHING = frozenset(("", "anonymous", "(anonymous)", "unspecified", "unknown", "none", "null", "untitled"))
"""What programs write where nobody said anything."""
_MOST_PROPERTIES, _MOST_PROPERTY, _MOST_NAME = 20, 300, 120
_TITLED: Collection[Media] = ("html", "email", "epub")
"""Kinds whose files name themselves better than their file's names do."""
_MOST_PLACES = 5  # named in a warning
_MUCH_MORE = 2  # times the text that stands over a picture, for recognition to have read a page


def detect_media(data: bytes, name: str, config: AppConfig, declared: Media | None = None) -> Media:
    """What the bytes are; `declared` where they are no hint.

    Raises EmptyError, LimitError, UnknownMediaError, EncryptedError for what needs no parsing to be refused.
    """
    if not data:
        raise EmptyError(f"{name} is empty.", "Export or download the document again and add that file.")
    if len(data) > config.limits.max_file_mb * 1024 * 1024:
        raise LimitError(
            f"{name} is {len(data) / 1024 / 1024:.0f} MB large; at most {config.limits.max_file_mb} MB are read."
        )
    media = declared or media_of(data, name)
    if declared is None and is_locked_office(data):
        raise EncryptedError(f"{name} is locked with a password.")
    if media is None or media not in READERS:
        kind = foreign_kind(data)
        what = f"{kind}, which is not read here" if kind else "nothing that can be read here, whatever its name says"
        known = ", ".join(NAMES[each] for each in READERS)
        raise UnknownMediaError(f"{name} is {what}.", f"Save it as one of these, and add that file: {known}.")
    return media


def read_document(
    data: bytes,
    name: str,
    config: AppConfig,
    *,
    on_page: Callable[[int, int], None] | None = None,
    on_recognising: scans.Progress | None = None,
    cancel: threading.Event | None = None,
    media: Media | None = None,
) -> ParsedDocument:
    """The document's pages. `on_page(page, pages)` is called as each is read; `cancel` kills the reader at once.

    What the bytes say decides how they are read, not the name; or `media`, where it is known whatever they look like.
    Pages without text are read by text recognition where it is installed, and `on_recognising(page, pages, seconds
    left)` is called before each.
    Raises UnknownMediaError, EncryptedError, DamagedError, EmptyError, LimitError, CancelledError.
    """
    label = safe_name(name)
    media = detect_media(data, label, config, media)
    read = _Read()
    total, metadata, published = 0, "", ""
    noted: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    attachments: list[Attachment] = []

    def look(numbers: Sequence[int]) -> Iterator[Frame]:
        job = {"task": "recognise", "media": media, "numbers": [*numbers]}
        return run_child(job, data, label, config, cancel, limits=recognising(config))

    try:
        for message, body in run_child({"task": "read", "media": media}, data, label, config, cancel):
            if "pages" in message:
                total, metadata = int(message["pages"]), str(message["title"])
                published = str(message.get("published", ""))
                properties = tuple(_properties(message.get("properties", {})))
                noted = tuple(remarks(message.get("notes", {})))
            elif "page" in message:
                read.add(message["page"])
                if on_page is not None:
                    on_page(len(read.pages), total)
            elif "attachment" in message:
                attachments.append(Attachment(safe_name(str(message["attachment"])), body))
        if len(read.pages) != total:
            raise DamagedError(f"{label} can't be read: only {len(read.pages)} of {total} pages came.")
        most, pictured = config.limits.recognise_pages, read.noted["pictured"]
        unread = scans.recognise(media, most, read.pages, pictured, look, read.replace, on_recognising)
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"{label} can't be read: the reader's answer made no sense.") from error
    return ParsedDocument(
        title=_title(_clean(metadata), read.first, label, media),
        pages=tuple(read.pages),
        warnings=(*_warnings(label, read, unread), *noted),
        kind=media,
        published=published if days_in(published) else "",
        properties=properties,
        attachments=tuple(attachments),
    )


def _title(metadata: str, first: ComposedPage | None, label: str, media: Media) -> str:
    lines = [(text[:200], height) for text, height in first.largest[:100]] if first else []
    subject = _clean(first.subject)[: LONGEST_TITLE // 2] if first else ""
    return document_title(metadata, lines, label, own=media in _TITLED, subject=subject)


def _properties(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a file says of itself, by name; dates that are none are left out."""
    for name, value in list(raw.items())[:_MOST_PROPERTIES]:
        said = " ".join(_clean(str(value)).split())[:_MOST_PROPERTY]
        said.encode("utf-8")
        if said.lower() not in _NOTHING and (name not in DATES or days_in(said)):
            yield _clean(str(name))[:_MOST_NAME], said


_SENT = TypeAdapter(ComposedPage)


def read_page(raw: Mapping[str, Any], expected: int) -> tuple[Page, ComposedPage]:
    """A page from the child's plain values, and all that it says of it.

    Raises KeyError, TypeError, ValueError for what is none.
    """
    size = len(raw["text"])
    sent = _SENT.validate_python({**raw, "tables": load_tables(raw["tables"], size)})
    if sent.number != expected:
        raise ValueError("pages out of order")
    spans = [*((start, end) for start, end, *_ in sent.lines), *((at, size) for at, _ in sent.headings)]
    if not all(0 <= start <= end <= size for start, end in spans):
        raise ValueError("a span outside its page")
    if any(number not in (expected, expected + 1) for *_, number in sent.lines):
        raise ValueError("a line of another page")
    page = Page(
        number=expected,
        text=sent.text,
        width=sent.width,
        height=sent.height,
        lines=tuple(
            LineBox(start=start, end=end, rect=Rect(page=number, left=a, top=b, right=c, bottom=d), confidence=sure)
            for start, end, a, b, c, d, sure, number in sent.lines
        ),
        tables=tuple(sent.tables),
        headings=tuple(sent.headings),
        scanned=sent.scanned,
        unseen=sent.unseen,
        recognised=sent.recognised,
        place=_clean(sent.place),
        by_heading=sent.by_heading,
        cuts=tuple(_cuts(sent.cuts, size)),
    )
    return page, sent


def _cuts(sent: Iterable[tuple[int, int, bool, tuple[str, ...]]], size: int) -> Iterator[Cut]:
    """Where the chunks of a page are. Raises ValueError where they overlap."""
    done = 0
    for start, end, table, headers in sent:
        if not done <= start < end <= size:
            raise ValueError("chunks out of order")
        yield Cut(start=start, end=end, table=table, headers=headers)
        done = end


@dataclass(slots=True)
class _Read:
    """What came of a file so far. `first`: its first page as it was sent. `noted`: pages by what they are."""

    pages: list[Page] = field(default_factory=list)
    first: ComposedPage | None = None
    noted: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, raw: Any) -> None:
        """The next page. Raises TypeError, ValueError for what is none."""
        page, sent = read_page(raw, len(self.pages) + 1)
        self.pages.append(page)
        self._note(sent)

    def replace(self, raw: Any) -> None:
        """A page that was read again from its picture, if there is much more in it. Raises as `add`."""
        page, sent = read_page(raw, raw["number"])
        before = self.pages[page.number - 1]
        if page.text and len(page.text) >= _MUCH_MORE * len(before.text):
            self.pages[page.number - 1] = page
            self._note(sent)
        elif sent.failed and not before.text.strip() and page.number not in self.noted["failed"]:
            self.noted["failed"].append(page.number)

    def _note(self, sent: ComposedPage) -> None:
        for what in ("failed", "cut", "garbled", "pictured"):
            if getattr(sent, what):
                self.noted[what].append(sent.number)
        if sent.number == 1:
            self.first = sent


def _warnings(label: str, read: _Read, unread: scans.Unrecognised | None) -> tuple[str, ...]:
    """What a person should know of the pages. Raises EmptyError, DamagedError or LimitError when none has text."""
    pages, failed, garbled = read.pages, read.noted["failed"], read.noted["garbled"]
    unseen = [page for page in pages if page.unseen]
    words = count(sum(page.unseen for page in unseen), "word")
    behind = [page.number for page in pages if page.recognised and scans.confidence(page) is None]
    if not any(page.text.strip() for page in pages) or all(page.scanned for page in pages):
        if failed and len(failed) == len(pages):
            raise DamagedError(f"{label} is damaged: {format_pages(failed)} can't be read.")
        if error := scans.empty(label, pages, unread, read.noted["pictured"]):
            raise error
        if failed:
            raise DamagedError(f"{label} is damaged: {format_pages(failed)} can't be read.")
        if unseen:
            raise EmptyError(
                f"{label} holds only text that can't be seen ({words}{_placed(unseen, ' on ')}).",
                "Open the file in its own program to see what it shows, then try another copy.",
            )
        blank = "its page is" if len(pages) == 1 else f"all of its {len(pages):,} pages are"
        raise EmptyError(f"{label} has no text: {blank} blank.")
    found = scans.notices(pages, unread)
    if failed:
        found.append(f"{format_pages(failed)} can't be read: the file is damaged there.")
    if garbled:
        shown = "shows letters" if len(garbled) == 1 else "show letters"
        found.append(f"{format_pages(garbled)} {shown} without saying which: only a picture of them can be read.")
    if cut := read.noted["cut"]:
        found.append(f"{format_pages(cut)} too long: only the first part is read.")
    if unseen:
        hold = "holds" if len(unseen) == 1 or unseen[0].by_heading else "hold"
        found.append(f"{_placed(unseen) or 'It'} {hold} text that can't be seen ({words}): it was left out.")
    if behind:
        what = "is a picture" if len(behind) == 1 else "are pictures"
        with_text = "with text from recognition behind"
        found.append(
            f"{format_pages(behind)} {what} {with_text}: that text is read, but was not compared with what shows."
        )
    return tuple(f"{each[:1].upper()}{each[1:]}" for each in found)


def _placed(pages: Sequence[Page], before: str = "") -> str:
    """Pages as people call them, by number or by their places; nothing for those that have neither."""
    if pages[0].by_heading:
        return ""
    if not pages[0].place:
        return before + format_pages([page.number for page in pages])
    places = ", ".join(page.place for page in pages[:_MOST_PLACES])
    return before + (f"{places} and {len(pages) - _MOST_PLACES} more" if len(pages) > _MOST_PLACES else places)


def _clean(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_WIDEST = 4000
_AT_ONCE = threading.BoundedSemaphore(4)
"""Pages that are drawn side by side, for all who look: each has a process of its own."""


def render_page(
    data: bytes,
    page: int,
    config: AppConfig,
    *,
    highlights: Sequence[Rect] = (),
    strong: Sequence[Rect] = (),
    width: int = 900,
) -> bytes:
    """A PNG `width` pixels wide (fewer for a very tall page) of page `page`, counted from 1; it holds its resolution.

    `strong` is marked over the highlights. Marks of other pages are left out. Raises the errors of `read_document`,
    DocumentError for a page that is not.
    """
    if not 16 <= width <= _WIDEST:
        raise SettingsError(f"An image is 16 to {_WIDEST} pixels wide, not {width}.")
    media = detect_media(data, "The document", config)
    if media not in ("pdf", "image"):
        raise DocumentError("This document has no pages to be drawn.", "Read its text instead.")
    boxes = [[r.left, r.top, r.right, r.bottom] for r in highlights if r.page == page]
    over = [[r.left, r.top, r.right, r.bottom] for r in strong if r.page == page]
    job = {"task": "render", "media": media, "page": page, "width": width, "highlights": boxes, "strong": over}
    image = b""
    with _AT_ONCE:
        for message, body in run_child(job, data, "The document", config):
            if message.get("image") == "png":
                image = body
    if not image.startswith(_SIGNATURE):
        raise DamagedError(f"Page {page} can't be drawn: the reader's answer made no sense.")
    return image
