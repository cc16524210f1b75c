"""What a library notes of a document beside its text: the same whether it came as a file or was kept from a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from crag.core.ingesting import ParsedDocument
from crag.core.types import Chunk, Document


def record_of(
    parsed: ParsedDocument,
    chunks: Sequence[Chunk],
    *,
    id: str,
    name: str,
    size: int,
    model: str,
    began: float,
    confidence: float,
) -> Document:
    """The record of a document that was read, chunked and embedded by now.

    `size`: bytes of its file. `model`: the embedder's id. `began`: when its reading did, by `time.perf_counter`.
    """
    return Document(
        id=id,
        name=name,
        title=parsed.title,
        size=size,
        pages=len(parsed.pages),
        chunks=len(chunks),
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
        model=model,
        seconds=round(time.perf_counter() - began, 3),
        warnings=parsed.warnings,
        confidence=confidence,
        kind=parsed.kind,
        published=parsed.published,
    )
