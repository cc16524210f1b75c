"""kill -9 at random moments (100 in all, for each pair of records and index) while documents come, go and are purged:
what was confirmed is there and found, what was deleted is never found, a purge is whole, and search works."""

import random
from collections.abc import Collection
from pathlib import Path

import pytest

from crag.core.types import Document
from crag.storage.library import Library
from crag.storage.postgres import Server
from tests.support.kills import work_until_killed
from tests.support.library_makers import HashEmbedder, index_at
from tests.support.sizes import sized

KILLS = sized(100, 2)
MOST = sized(60, 15)
MOST_SAID = 14
"""Seven documents were added, one deleted and one purged by then, at least."""
SEED = 20240115


def found(library: Library, query: str, gone: Collection[str]) -> set[str]:
    """The documents of the best chunks, of which none was deleted."""
    ids = {each.chunk.document_id for each in library.search(query, 20)}
    assert ids.isdisjoint(gone), "what was deleted is not returned, not even by the first search"
    return ids


def is_whole(library: Library, document: Document) -> bool:
    chunks, file = library.documents.chunks(document.id), library.documents.file(document.id)
    return len(chunks) == document.chunks == 40 and len(file) > 200_000


@pytest.mark.parametrize(
    ("records", "index"),
    [
        ("sqlite", "embedded"),
        pytest.param("postgresql", "embedded", marks=pytest.mark.slow),
        pytest.param("sqlite", "milvus", marks=pytest.mark.heavy),
        pytest.param("postgresql", "milvus", marks=pytest.mark.heavy),
    ],
)
def test_kills_lose_nothing_that_was_confirmed(tmp_path: Path, server: Server | None, url: str, uri: str) -> None:
    moments = random.Random(SEED)
    folder = tmp_path / "library"
    embedder = HashEmbedder()
    there: set[str] = set()
    gone: set[str] = set()
    cut_off: set[str] = set()
    for kill in range(KILLS):
        later, said = moments.uniform(0, 0.1), moments.randint(1, MOST_SAID)
        new = work_until_killed(folder, f"k{kill}", later, url, uri, after=said)
        there |= {*new.there}
        gone |= {*new.gone}
        cut_off |= {*new.open}
        with Library(folder, embedder, server=server, open_index=index_at(uri)) as library:
            found(library, f"k{kill}n0 harbour", gone)
            stored = {document.id: document for document in library.documents.all()}
            assert there <= stored.keys() and gone.isdisjoint(stored)
            # At most the one document whose confirmation the kill cut off is there unannounced.
            assert len(stored.keys() - there - {*new.open}) <= 1
            for id in new.there:
                assert id in found(library, stored[id].title, gone)
            assert all(is_whole(library, document) for document in list(stored.values())[-2:])
            assert not library.verify(), "the index holds what the records hold"
            assert stored.keys().isdisjoint(held.id for held in library.purges.undoable())
            if len(stored) > MOST:  # keeps the test quick, and lets deletes and kills meet on one library
                for id in list(stored)[:-10]:
                    library.documents.delete(id)
                    gone.add(id)
            there = stored.keys() - gone
    with Library(folder, embedder, server=server, open_index=index_at(uri)) as library:
        for document in library.documents.all():
            assert is_whole(library, document) and document.id in found(library, document.title, gone)
        assert not library.verify()
        held = library.purges.undoable()
        assert {each.id for each in held} <= gone | cut_off
        again = library.purges.undo(held[0].id)
        assert is_whole(library, again) and again.id in found(library, again.title, set())
    assert there and gone
