"""What a retriever returns, made of chunks or of texts."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from crag.core.types import Chunk, RetrievedChunk


def rank_chunks(chunks: Iterable[Chunk]) -> list[RetrievedChunk]:
    """Chunks, the best first, as a retriever gives them. The similarity is the place alone."""
    return [RetrievedChunk(chunk=chunk, rank=rank, similarity=1 / rank) for rank, chunk in enumerate(chunks, start=1)]


def rank_texts(texts: Iterable[tuple[str, str]]) -> list[RetrievedChunk]:
    """Texts, each with the name of its source, the best first, as a retriever gives them.

    A text is cut nowhere, and has no page. The same text of the same source has the same id.
    """
    made = list[Chunk]()
    for text, name in texts:
        id = sha256(f"{name}\0{text}".encode(errors="replace")).hexdigest()
        chunk = Chunk(
            id=id,
            document_id=name,
            source=name,
            title=name,
            page=0,
            ordinal=len(made),
            start=0,
            end=len(text),
            text=text,
        )
        made.append(chunk)
    return rank_chunks(made)
