"""What adding a document yields as it happens, and what the reader hands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from crag.core.errors import Reason
from crag.core.tables import Table
from crag.core.types import Document, LineBox, Media

# fmt: off
Found = Literal[
    "unchanged", "replaced", "changed", "duplicate", "gone", "refused", "unreachable", "unreadable", "moved", "removed",
]
# fmt: on
"""What came of looking at a document's web page or file again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The characters [start, end) of a page's text that are one chunk; `table`: most of it is rows of a table.

    `headers` are what its tables say of these rows elsewhere.
    """

    start: int
    end: int
    table: bool = False
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page. `text` is in reading order, tables as readable rows; `lines` hold offsets into it.

    `number` from 1; `width`, `height` in points as displayed, 0 where there is nothing to display. `place`: what a
    citation says where that is no printed page, as "slide 3"; `by_heading`: or, in a text without pages, the heading
    that a chunk stands under. `scanned`: an image with (nearly) no text.
    `headings` are (offset, heading text), in order. `unseen` words that can't be seen on the page were left out;
    `recognised`: the text is recognition's, and what a person sees is a picture. `cuts`: where its chunks are, if the
    reader has said so.
    """

    number: int
    text: str
    width: float
    height: float
    lines: tuple[LineBox, ...] = ()
    tables: tuple[Table, ...] = ()
    headings: tuple[tuple[int, str], ...] = ()
    scanned: bool = False
    unseen: int = 0
    recognised: bool = False
    place: str = ""
    by_heading: bool = False
    cuts: tuple[Cut, ...] | None = None


class Attachment(NamedTuple):
    """A file that came in another one, as an e-mail's attachments do."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """All pages of a file, its best title, what kind of file it is, and what a person should know about the reading.

    `published`: the date that it says of itself, as exact as it does (ISO 8601); empty: none. `properties` as a
    `Document`'s. `attachments` are documents of their own.
    """

    title: str
    pages: tuple[Page, ...]
    warnings: tuple[str, ...] = ()
    kind: Media = "pdf"
    published: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileEvent:
    """`name`: of the file, as it was given. `attached_to`: the file that it came in, which was given."""

    name: str
    attached_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingQueued(_FileEvent):
    """As many files are read as may be at once: `before` others must end first."""

    before: int
    kind: Literal["reading_queued"] = "reading_queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPage(_FileEvent):
    """`page` pages of `pages` are read."""

    page: int
    pages: int
    kind: Literal["reading_page"] = "reading_page"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisingPage(_FileEvent):
    """Of the `pages` pages that have no text, the `page`-th is being read by text recognition.

    `seconds_left`: how long it and those behind it take, about.
    """

    page: int
    pages: int
    seconds_left: float
    kind: Literal["recognising_page"] = "recognising_page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding(_FileEvent):
    """Of `total` chunks that were stored without vectors, `done` have one; those of the document `name` come next."""

    done: int
    total: int
    kind: Literal["embedding"] = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAdded(_FileEvent):
    """The document is stored, whole, and found by its words. Its vectors follow."""

    document: Document
    kind: Literal["document_added"] = "document_added"


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateFound(_FileEvent):
    """The same bytes are in the library already, maybe under another name; nothing was added."""

    document: Document
    kind: Literal["duplicate_found"] = "duplicate_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFailed(_FileEvent):
    """The file was not added; nothing that was stored changed.

    `reason`: "limit" where there is no room: it may be added when something was deleted.
    """

    message: str
    remedy: str
    reason: Reason = "input"
    kind: Literal["document_failed"] = "document_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingFailed(_FileEvent):
    """No more vectors can be made now: documents that have none, `name` the first, are found by their words alone."""

    message: str
    remedy: str
    kind: Literal["embedding_failed"] = "embedding_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRefreshed(_FileEvent):
    """A document's web page or file was looked at again. `document` is as it is now.

    "unchanged": only the time of the look was noted. "replaced": it said something else, which stands in the
    library now in the old one's place. With it went the labels and track records, counted here, of chunks that
    changed, and a person's word that it is verified (`lost_verified`). "moved": the same file has another path.
    "removed": the document was deleted, for its file is gone. Any other `found` is its `look`, and the document
    stays as it was; `message` and `remedy` say more of it.
    """

    document: Document
    found: Found
    message: str = ""
    remedy: str = ""
    lost_labels: int = 0
    lost_records: int = 0
    lost_verified: bool = False
    kind: Literal["document_refreshed"] = "document_refreshed"


IngestStep = ReadingQueued | ReadingPage | RecognisingPage | Embedding
"""How far a file is on its way."""

IngestEnd = DocumentAdded | DuplicateFound | DocumentFailed | DocumentRefreshed
"""What came of a file."""

IngestEvent = IngestStep | IngestEnd | EmbeddingFailed
