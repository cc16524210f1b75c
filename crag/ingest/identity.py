"""The identity of a file and of a document, and the record that is stored of it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

from crag.core.ingesting import ParsedDocument
from crag.core.types import Chunk, Document
from crag.text.words import few_marks

_MOST = 120
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
_RESERVED = re.compile(r'[<>:"|?*]')


def content_id(data: bytes) -> str:
    """The SHA-256 of the bytes in hex: a document's identity, whatever its name."""
    return hashlib.sha256(data).hexdigest()


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
    if len(label) > _MOST:
        stem, dot, extension = label.rpartition(".")
        keep = dot + extension if dot and len(extension) <= 8 else ""
        label = (stem if keep else label)[: _MOST - len(keep)] + keep
    return label


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
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
        model=model,
        warnings=parsed.warnings,
        kind=parsed.kind,
        published=parsed.published,
    )
