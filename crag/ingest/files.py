"""What a file is: its kind by its bytes, its id and name, and what an Office container holds before it is parsed."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crag.core.errors import DocumentError, LimitError
from crag.core.ingesting import ParsedDocument
from crag.core.types import Chunk, Document, Media
from crag.runtime.real_files import RealFolder
from crag.text.formats import iso_now
from crag.text.words import few_marks


class FileError(Exception):
    """An error of the file: `kind` is one of those that `crag.ingest.sandbox` turns into messages."""

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind, self.detail = kind, detail
        super().__init__(kind, detail)


READERS: Mapping[Media, str] = MappingProxyType(
    {
        "pdf": "crag.ingest.pdf:read",
        "docx": "crag.ingest.docx:read",
        "pptx": "crag.ingest.pptx:read",
        "xlsx": "crag.ingest.sheets:read_xlsx",
        "csv": "crag.ingest.sheets:read_csv",
        "html": "crag.ingest.html:read",
        "markdown": "crag.ingest.plain:read_markdown",
        "text": "crag.ingest.plain:read_text",
        "image": "crag.ingest.pictures:read",
        "email": "crag.ingest.mail:read",
        "rtf": "crag.ingest.rtf:read",
        "epub": "crag.ingest.epub:read",
        "odt": "crag.ingest.opendocument:read_text",
        "ods": "crag.ingest.opendocument:read_sheets",
        "odp": "crag.ingest.opendocument:read_slides",
    }
)
"""The function that reads each kind in the reader's child process, a `crag.ingest.child.Reader`."""

NAMES: Mapping[Media, str] = MappingProxyType(
    {
        "pdf": "PDF",
        "html": "web page",
        "markdown": "Markdown",
        "text": "plain text",
        "docx": "Word document",
        "pptx": "PowerPoint presentation",
        "xlsx": "Excel workbook",
        "csv": "CSV table",
        "image": "image",
        "email": "e-mail",
        "rtf": "RTF document",
        "epub": "EPUB book",
        "odt": "OpenDocument text",
        "ods": "OpenDocument spreadsheet",
        "odp": "OpenDocument presentation",
    }
)
ENDINGS: Mapping[str, Media] = MappingProxyType(
    {
        **{"pdf": "pdf", "html": "html", "htm": "html", "md": "markdown", "markdown": "markdown", "txt": "text"},
        **{"docx": "docx", "docm": "docx", "pptx": "pptx", "pptm": "pptx", "ppsx": "pptx"},
        **{"xlsx": "xlsx", "xlsm": "xlsx", "csv": "csv", "tsv": "csv"},
        **{"eml": "email", "msg": "email", "rtf": "rtf", "epub": "epub", "odt": "odt", "ods": "ods", "odp": "odp"},
        **dict.fromkeys(("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"), "image"),
    }
)
"""What files of these endings most likely are: for choosing files, and between forms of plain text."""

_PDF_WITHIN = 1024
_LOOKED_AT, _HEADER_BYTES = 4096, 65_536
_PARTS: Mapping[bytes, Media] = {b"word/": "docx", b"ppt/": "pptx", b"xl/": "xlsx"}
_PACKED: Mapping[bytes, Media] = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
}
"""What a container says that it is in its first part, which is not compressed."""
_OUTLOOK, _LOCKED_OFFICE = ("__properties_version1.0".encode("utf-16-le"), "EncryptedPackage".encode("utf-16-le"))
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")
_HEADER = re.compile(rb"(?:From [^\n]*+\n)?((?:[!-9;-~]{1,60}+:[^\n]*+\n(?:[ \t][^\n]*+\n)*+){2,}+)")
"""The header of an e-mail: fields, some of which go on in lines that are indented."""
_SENT = re.compile(rb"^(?:from|sender|date|subject):", re.IGNORECASE | re.MULTILINE)
_CARRIED = re.compile(rb"^(?:received|message-id|mime-version|return-path):", re.IGNORECASE | re.MULTILINE)
_FOREIGN: Mapping[str, Sequence[bytes]] = {
    "a ZIP archive": [b"PK"],
    "a 7-Zip archive": [b"7z\xbc\xaf\x27\x1c"],
    "a RAR archive": [b"Rar!"],
    "a gzip archive": [b"\x1f\x8b"],
    "a bzip2 archive": [b"BZh"],
    "an xz archive": [b"\xfd7zXZ"],
    "a Zstandard archive": [b"\x28\xb5\x2f\xfd"],
    "a program": [b"MZ", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm"],
    "an SQLite database": [b"SQLite format 3"],
    "a GIF image": [b"GIF8"],
    "an icon": [b"\0\0\1\0"],
    "a Photoshop image": [b"8BPS"],
    "a video": [b"\x1a\x45\xdf\xa3"],
    "a sound": [b"ID3", b"OggS", b"fLaC"],
    "an Office file older than 2007": [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
    "a Parquet file": [b"PAR1"],
    "an HDF file": [b"\x89HDF"],
    "a font": [b"wOF", b"OTTO", b"\0\1\0\0"],
}
"""How files begin that are not read, by what they are."""
_WITHIN = (
    (257, b"ustar", "a tar archive"),
    (4, b"ftyphei", "a HEIC image"),
    (4, b"ftypmif1", "a HEIC image"),
    (4, b"ftypavif", "an AVIF image"),
    (4, b"ftyp", "a video"),
    (8, b"AVI ", "a video"),
    (8, b"WAVE", "a sound"),
)
"""The same of those that say it further on, and where."""
_MARKS = {b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"}
_UNTEXTED = bytes(each for each in range(32) if each not in b"\t\n\v\f\r\x1b")


_DIRECTORY_END = 66_000
"""Bytes at a ZIP container's end in which its directory ends. One without is cut off: its name says what it is."""


def media_of(data: bytes, name: str) -> Media | None:
    """What these bytes are; None for what nothing here reads. `name` tells Markdown, CSV and e-mail from other text."""
    head = data[:_LOOKED_AT]
    hint = ENDINGS.get(ending_of(name))
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if is_compound(data):
        return "email" if _OUTLOOK in data else None
    if head.startswith(b"PK\x03\x04"):
        cut_off = b"PK\x05\x06" not in data[-_DIRECTORY_END:]
        return _packed(data) or (hint if cut_off and hint in _PARTS.values() else None)
    if _is_email(data[:_HEADER_BYTES], hint):
        return "email"
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith(_IMAGES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP") or _is_bitmap(head):
        return "image"
    if not _is_text(head) or b"%PDF-" in head or _foreign_text(head):
        return None
    if any(tag in head.lower() for tag in _HTML):
        return "html"
    return hint if hint in ("html", "markdown", "csv") else "text"


def foreign_kind(data: bytes) -> str:
    """What bytes are that are not read, as a person calls it; empty where that is not known."""
    known = next((said for said, marks in _FOREIGN.items() if data.startswith(tuple(marks))), "")
    known = known or next((said for at, mark, said in _WITHIN if data.startswith(mark, at)), "")
    return known or _foreign_text(data[:_LOOKED_AT])


def _foreign_text(head: bytes) -> str:
    """What a text is that says nothing to a reader: a drawing or a program for a printer."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"%!PS"):
        return "a PostScript file"
    drawn = start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start and b"<html" not in start)
    return "an SVG drawing" if drawn else ""


def _packed(data: bytes) -> Media | None:
    """What a ZIP container is; None for an archive of other files."""
    size = int.from_bytes(data[18:22], "little")
    if data[30:38] == b"mimetype" and (said := data[38 : 38 + size].strip()) in _PACKED:
        return _PACKED[said]
    listed = _directory(data)
    if b"mimetype" in listed and (said := _said_type(data)) in _PACKED:
        return _PACKED[said]
    if b"META-INF/container.xml" in listed:
        return "epub"
    if b"[Content_Types].xml" not in listed:
        return None
    return next((media for part, media in _PARTS.items() if part in listed), None)


def _said_type(data: bytes) -> bytes:
    """What a container says that it is in a part that does not stand first."""
    with suppress(Exception), zipfile.ZipFile(BytesIO(data)) as file, file.open("mimetype") as part:
        return part.read(_LOOKED_AT).strip()
    return b""


def _is_email(head: bytes, hint: Media | None) -> bool:
    """Whether a text begins as e-mails do. Without the ending of one it has to say how it was carried, too."""
    found = _HEADER.match(head.removeprefix(b"\xef\xbb\xbf"))
    if found is None or not _SENT.search(found[1]):
        return False
    return hint == "email" or _CARRIED.search(found[1]) is not None


def _is_bitmap(head: bytes) -> bool:
    """Whether these bytes begin a BMP: text may begin with the same two letters, but has no zeros behind them."""
    return head.startswith(b"BM") and head[6:10] == bytes(4)


def is_compound(data: bytes) -> bool:
    """Whether the bytes are a compound file: an Outlook message, or an Office file that is locked or old."""
    return data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")


def is_locked_office(data: bytes) -> bool:
    """Whether the bytes are an Office file that is locked with a password."""
    return is_compound(data) and _LOCKED_OFFICE in data


def _directory(data: bytes) -> bytes:
    """The list of a container's parts, which stands at its end; all of one that is cut off."""
    end = data.rfind(b"PK\x05\x06")
    start = int.from_bytes(data[end + 16 : end + 20], "little") if end >= 0 else len(data)
    return data[start:end] if start < end else data


def _is_text(head: bytes) -> bool:
    """Whether the beginning of a file is text in some encoding: no control characters but white space."""
    if any(head.startswith(mark) for mark in _MARKS):
        return True
    return bool(head.strip()) and head.translate(None, _UNTEXTED) == head


_MOST_NAME = 120
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
_RESERVED = re.compile(r'[<>:"|?*]')


def content_id(data: bytes) -> str:
    """The SHA-256 of the bytes in hex: a document's identity, whatever its name."""
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=16_384)
def file_id(path: str, modified: int, folder: RealFolder | None = None) -> str:
    """The same of a file's bytes, read once for each time at which it was `modified`. Raises OSError.

    `folder`: the one that it was found in, below which no link is followed.
    """
    with folder.open(path) if folder else open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_file(file: Path, max_mb: int, folder: RealFolder | None = None) -> tuple[int, bytes]:
    """When a file was changed last (nanoseconds since the epoch), and its bytes. `folder` as `file_id` has it.

    Raises DocumentError for what is no file, for one too large, before all is read, and for one that changes while it
    is read; OSError.
    """
    if folder is None:
        _check_kind(file)
    with folder.open(str(file)) if folder else file.open("rb") as opened:
        before = os.fstat(opened.fileno())
        if before.st_size > max_mb * 1024 * 1024:
            raise LimitError(
                f"{file.name} is larger than {max_mb} MB.", "Split the document, or raise CRAG_MAX_FILE_MB."
            )
        data = opened.read()
        after = os.fstat(opened.fileno())
    if (len(data), after.st_size, after.st_mtime_ns) != (before.st_size, before.st_size, before.st_mtime_ns):
        raise DocumentError(f"{file.name} changed while it was read.", "Add it again once it is written.")
    return before.st_mtime_ns, data


def _check_kind(file: Path) -> None:
    """Raises DocumentError for what a person named that is no file."""
    kind = file.stat().st_mode
    if stat.S_ISDIR(kind):
        endings = ", ".join(f".{ending}" for ending in ENDINGS)
        raise DocumentError(
            f"There is no document in the folder {file}.", f"Name one with files that end in {endings}."
        )
    if not stat.S_ISREG(kind):
        raise DocumentError(f"{file} is not a regular file.", "Name a file or a folder.")


def safe_name(name: str) -> str:
    """`name` without path parts, control or direction characters or markup brackets, at most 120 characters.

    Never empty and never only dots. The extension survives shortening.
    """
    flat = _UNPRINTED.sub("", unicodedata.normalize("NFC", few_marks(name.encode("utf-8", "ignore").decode())))
    # A slash inside markup ("</b>") is a path separator like any other: what follows the last one is the name.
    last = re.split(r"[\\/]", flat.rstrip("\\/ "))[-1]
    label = " ".join(_RESERVED.sub("_", last).split()).strip(". ") if last.strip(". ") else ""
    if not label:
        return "document"
    if len(label) > _MOST_NAME:
        stem, dot, extension = label.rpartition(".")
        keep = dot + extension if dot and len(extension) <= 8 else ""
        label = (stem if keep else label)[: _MOST_NAME - len(keep)] + keep
    return label


_ATTACHED = " (attached to "
_MOST_OWN = 60
"""Characters that the name of an attachment, and that of what it came in, may have in the name of its document."""


def attached_name(name: str, source: str) -> str:
    """The name of the document that an attachment of `source` becomes: "minutes.pdf (attached to hours.eml)"."""
    own, _, ending = safe_name(name).rpartition(".")
    own = f"{own[: _MOST_OWN - len(ending) - 1]}.{ending}" if own else ending[:_MOST_OWN]
    source = source if len(source) < _MOST_OWN // 2 else f"{source[: _MOST_OWN // 2]}…"
    return safe_name(f"{own}{_ATTACHED}{source})")


def own_name(name: str) -> str:
    """The name of a file without that of the e-mail that it was attached to."""
    return (name.rpartition(_ATTACHED)[0] if name.endswith(")") else "") or name


def ending_of(name: str) -> str:
    """The ending of a file's own name in small letters, without the dot."""
    return own_name(name).rpartition(".")[2].lower()


def record_of(
    parsed: ParsedDocument,
    chunks: Sequence[Chunk],
    *,
    id: str,
    name: str,
    size: int,
    model: str,
) -> Document:
    """The record of a document that was read, chunked and embedded; `size` in bytes, `model` the embedder's id."""
    return Document(
        id=id,
        name=name,
        title=parsed.title,
        size=size,
        pages=len(parsed.pages),
        chunks=len(chunks),
        added_at=iso_now(),
        model=model,
        warnings=parsed.warnings,
        kind=parsed.kind,
        published=parsed.published,
        properties=parsed.properties,
    )


_MOST_PARTS = 20_000
_SHARE = 4
"""A container may unpack to this fraction of the reader's memory, as 1/N: parsing takes more."""
_LOCKED = 0x1
_NO_MEMORY = 2
"""The code of lxml's errors when libxml2 gets no memory."""


def check_container(data: bytes, job: Mapping[str, Any], streamed: str = "") -> tuple[Collection[str], dict[str, Any]]:
    """The names of an Office file's parts, and the notes about it for the warnings of `crag.ingest.reader`.

    A container states how large its parts are when unpacked, and Python never reads more of a part than that. Parts
    whose names begin with `streamed` are read bit by bit, so their size does not count.
    Raises FileError for a container that is damaged, locked, or too large for the reader's memory.
    """
    with translate_errors(), zipfile.ZipFile(BytesIO(data)) as file:
        parts = file.infolist()
    if any(part.flag_bits & _LOCKED for part in parts):
        raise FileError("encrypted")
    size = sum(part.file_size for part in parts if not (streamed and part.filename.startswith(streamed)))
    if len(parts) > _MOST_PARTS:
        raise FileError("unpacked", f"{len(parts):,} parts")
    if size > int(job["memory_mb"]) * 1024 * 1024 // _SHARE:
        raise FileError("unpacked", f"{size // 1024 // 1024:,} MB")
    names = {part.filename for part in parts}
    return names, {"macros": 1} if any(name.endswith("vbaProject.bin") for name in names) else {}


_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w{1,40})/(\w{1,40})")
_RENAMED = {b"extendedProperties": b"extended-properties", b"customProperties": b"custom-properties"}


def in_common_form(data: bytes) -> bytes:
    """An Office file whose names are those that all libraries know, also if it was saved as "Strict Open XML".

    Raises what a damaged container does.
    """
    with zipfile.ZipFile(BytesIO(data)) as file:
        if "_rels/.rels" not in file.namelist() or not _STRICT.search(file.read("_rels/.rels")):
            return data
        held = BytesIO()
        with zipfile.ZipFile(held, "w") as renamed:
            for part in file.infolist():
                renamed.writestr(part.filename, _STRICT.sub(_rename, file.read(part)))
    return held.getvalue()


def _rename(found: re.Match[bytes]) -> bytes:
    return b"http://schemas.openxmlformats.org/%b/2006/%b" % (found[1], _RENAMED.get(found[2], found[2]))


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn every error of a library into a FileError, except that it has too little memory."""
    try:
        yield
    except (FileError, MemoryError):
        raise
    except Exception as error:
        if getattr(error, "code", None) == _NO_MEMORY:
            raise MemoryError from error
        raise FileError("damaged", type(error).__name__) from error
