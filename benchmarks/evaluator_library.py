"""What the product's own search brings for questions asked of a folder of real PDFs, all in one library."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from crag.core.settings import Settings
from crag.core.types import Chunk

Item = TypeVar("Item")

CACHE = Path(tempfile.gettempdir()) / "crag-retrieval-cache"
"""Vectors by text, shared with benchmarks.retrieval."""


def retrieval() -> ModuleType:
    """The retrieval benchmark, which reads PDFs and questions; imported late, for it wants packages of its own."""
    try:
        from benchmarks import retrieval as found
    except ImportError as error:
        raise SystemExit(f"{error}: pip install -r benchmarks/requirements.txt") from error
    return found


def top_chunks(folder: Path, questions: Sequence[str], only: Collection[str] = ()) -> list[list[Chunk]]:
    """The first chunks (as many as the default settings retrieve) for each question, best first.

    The library holds the PDFs in `folder`, or those named in `only`. Files are read anew at every call.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    made = retrieval()
    embedder = made.CachedEmbedder(CACHE)
    files = [file for file in sorted(folder.glob("*.pdf")) if not only or file.name in only]
    reads = [read for read in made.read_ours(files, embedder) if read.chunks]
    for question in questions:
        embedder.embed_question(question)
    embedder.save()
    with tempfile.TemporaryDirectory() as place, made.build(Path(place), reads, embedder) as library:
        return [[found.chunk for found in library.search(question, Settings().k)] for question in questions]


def spread(items: Sequence[Item], limit: int) -> list[Item]:
    """At most `limit` of the items, evenly spread over them; all where `limit` is 0."""
    if not limit or limit >= len(items):
        return list(items)
    return [items[place * len(items) // limit] for place in range(limit)]
