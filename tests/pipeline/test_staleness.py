"""A document is stale when its file, the chunking or the embedding model is another than when it was stored."""

import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from crag.core.errors import InputError, NotFoundError
from crag.core.types import Chunk, Document
from crag.ingest.chunking import chunk_id
from crag.pipeline.staleness import Stale, find_stale
from crag.storage.library import Library
from tests.support.library_makers import HashEmbedder, make_document

EMBEDDER = HashEmbedder()


@pytest.fixture
def library(tmp_path: Path):
    with Library(tmp_path / "library", EMBEDDER) as opened:
        yield opened


def add(library: Library, label: str, chunks: int = 3, *, now: bool = True) -> tuple[Document, bytes]:
    """A document whose chunks are of today's chunking, or of another."""
    document, data, made = make_document(label, chunks)
    if now:
        made = [
            replace(
                each, start=at, end=at + len(each.text), id=chunk_id(document.id, each.page, at, at + len(each.text))
            )
            for at, each in enumerate(made)
        ]
    store(library, document, data, made)
    return document, data


def store(library: Library, document: Document, data: bytes, chunks: list[Chunk]) -> None:
    library.documents.add(document, data, chunks, EMBEDDER.embed([chunk.indexed_text for chunk in chunks]))


def test_chunks_of_an_earlier_version_are_told(library: Library) -> None:
    add(library, "alpha")
    add(library, "empty", 0)
    old, _ = add(library, "beta", now=False)
    assert find_stale(library) == {old.id: (Stale("chunks"),)}


def test_vectors_of_another_model_are_told(library: Library) -> None:
    document, _ = add(library, "alpha")
    library.close()
    with Library(library.folder, HashEmbedder("other")) as again:
        assert find_stale(again) == {document.id: (Stale("vectors"),)}


def test_a_file_that_changed_is_told_and_one_that_was_only_touched_is_not(library: Library, tmp_path: Path) -> None:
    document, data = add(library, "alpha")
    file = tmp_path / "alpha.pdf"
    file.write_bytes(data)
    library.documents.note(document.id, path=str(file), modified=file.stat().st_mtime_ns)
    stored = library.documents.get(document.id)
    assert (stored.path, stored.modified) == (str(file), file.stat().st_mtime_ns)
    assert find_stale(library) == {}
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert find_stale(library) == {}
    file.write_bytes(data[::-1])
    os.utime(file, (1_100_000_000, 1_100_000_000))
    assert find_stale(library) == {document.id: (Stale("file"),)}
    file.write_bytes(data + b" and more")
    assert document.id in find_stale(library)
    file.unlink()
    assert find_stale(library) == {}
    with pytest.raises(NotFoundError):
        library.documents.note("nothing", path=str(file), modified=0)


def test_a_document_past_the_day_a_person_wanted_to_look_at_it_is_told(library: Library) -> None:
    document, _ = add(library, "alpha")
    for wanted, today, over in [
        ("2026-03-31", date(2026, 3, 31), False),
        ("2026-03-31", date(2026, 4, 1), True),
        ("2026-03", date(2026, 3, 31), False),
        ("2026", date(2026, 12, 31), False),
        ("2025", date(2026, 1, 1), True),
    ]:
        library.documents.describe(document.id, {"review_by": wanted})
        assert find_stale(library, today=today) == ({document.id: (Stale("review", wanted),)} if over else {}), wanted
        assert find_stale(library, [document.id], today) == find_stale(library, today=today)
    with pytest.raises(InputError, match="review_by"):
        library.documents.describe(document.id, {"review_by": "soon"})
