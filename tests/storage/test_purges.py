"""A purge takes documents out whole, and for a day they can be brought back as they were."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from crag.core.errors import EmptyLibraryError, FilterError, InputError, NotFoundError
from crag.core.filters import filter_of
from crag.core.protocols import SearchQuery
from crag.core.purging import Conditions
from crag.core.types import Document
from crag.storage.library import Library
from crag.storage.store import count
from crag.storage.tables import chunks, files, labels, purged, tracks, vectors
from tests.storage.test_tracks import run
from tests.support.library_makers import HashEmbedder

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]

OLD = Conditions(older_than=30, where=filter_of("verified = false"))
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LATELY = "2026-05-30T00:00:00+00:00"


def stored(library: Library) -> list[tuple[str, bytes]]:
    """The vectors of all chunks with the ids of these."""
    with library._database.read() as connection:
        asked = select(chunks.c.id, vectors.c.vector).join(vectors, vectors.c.chunk == chunks.c.number)
        return sorted((id, bytes(vector)) for id, vector in connection.execute(asked))


def test_what_is_purged_is_neither_listed_nor_counted_nor_found(library: Library, fill: Fill) -> None:
    old, new = fill(library, "zanzibar", 9), fill(library, "beta", 4, added_at=LATELY)
    (told,) = library.purges.due(OLD, NOW)
    assert (told.document, told.why) == (old, "added 151 days ago, meets verified = false")
    assert library.documents.all() == [old, new], "to look changes nothing"
    assert library.purges.purge(OLD, NOW) == [told]
    assert library.documents.all() == [new]
    assert library.size == (1, 4)
    assert library.find(SearchQuery("zanzibar", 20, mode="bm25")) == []
    assert {found.chunk.document_id for found in library.search("zanzibar", 20)} == {new.id}
    with pytest.raises(NotFoundError):
        library.documents.get(old.id)
    with library._database.read() as connection:
        assert [count(connection, each) for each in (files, chunks, vectors)] == [1, 4, 4]
    assert not library.verify()
    assert library.purges.purge(OLD, NOW) == []


def test_undoing_brings_all_of_it_back(library: Library, fill: Fill) -> None:
    fill(library, "beta", added_at=LATELY)
    old = fill(library, "zanzibar", 9)
    library.documents.describe(old.id, {"source": "the shelf", "tags": ("a", "b")})
    its_chunks, data = library.documents.chunks(old.id), library.documents.file(old.id)
    library.labels.save("where?", its_chunks[0].id, "relevant")
    library.runs.save(run("one", its_chunks[:2], [0.9, 0.1]), [])
    before = (
        library.labels.all(),
        library.documents.chunk_tracks(old.id),
        stored(library),
        library.search("zanzibar", 9),
    )
    library.purges.purge(OLD, NOW)
    assert library.labels.all() == []
    (held,) = library.purges.undoable(NOW)
    assert (held.id, held.name, held.why) == (old.id, "zanzibar.pdf", "added 151 days ago, meets verified = false")
    assert library.purges.undo(old.id, NOW) == old
    assert library.documents.chunks(old.id) == its_chunks
    assert library.documents.file(old.id) == data
    assert library.documents.fields(old.id)["tags"] == ("a", "b")
    after = library.labels.all(), library.documents.chunk_tracks(old.id), stored(library), library.search("zanzibar", 9)
    assert after == before
    assert library.purges.undoable(NOW) == []
    assert not library.verify()
    with library._database.read() as connection:
        assert (count(connection, purged), count(connection, labels), count(connection, tracks)) == (0, 1, 2)


def test_what_was_brought_back_is_kept_from_the_next_purge(library: Library, fill: Fill) -> None:
    old = fill(library, "alpha")
    library.purges.purge(OLD, NOW)
    library.purges.undo(old.id, NOW)
    assert library.documents.fields(old.id)["keep"] is True
    assert library.purges.purge(OLD, NOW) == []
    library.documents.describe(old.id, {"keep": None})
    assert [each.document.id for each in library.purges.purge(OLD, NOW)] == [old.id]


def test_after_a_day_it_is_gone_for_good(library: Library, fill: Fill) -> None:
    old = fill(library, "alpha")
    library.purges.purge(OLD, NOW)
    later = NOW + timedelta(hours=25)
    assert library.purges.undoable(later) == []
    with pytest.raises(NotFoundError, match="could bring back"):
        library.purges.undo(old.id, later)
    assert library.purges.expire(NOW + timedelta(hours=23)) == 0
    assert library.purges.expire(later) == 1
    with library._database.read() as connection:
        assert count(connection, purged) == 0


def test_the_same_content_added_meanwhile_is_not_overwritten(library: Library, fill: Fill) -> None:
    old = fill(library, "alpha")
    library.purges.purge(OLD, NOW)
    fill(library, "alpha")
    with pytest.raises(InputError, match="in the library already"):
        library.purges.undo(old.id, NOW)
    assert library.size == (1, 4)
    library.purges.purge(OLD, NOW)
    assert len(library.purges.undoable(NOW)) == 1


def test_what_comes_back_gets_vectors_of_the_model_in_use(
    library: Library, fill: Fill, open_library: OpenLibrary
) -> None:
    old = fill(library, "alpha")
    library.purges.purge(OLD, NOW)
    library.close()
    other = HashEmbedder("hash-v2", 32)
    again = open_library(embedder=other)
    assert again.purges.undo(old.id, NOW).model == "hash-v2" and not again.verify()
    assert again.search("alpha", 2) and again.unembedded.standing()[old.id].done == 0, "found by its words until then"
    assert sorted(again.unembedded.next(9).values(), key=lambda each: each.ordinal) == again.documents.chunks(old.id)


def test_an_emptied_library_and_a_filter_of_nothing(library: Library, fill: Fill) -> None:
    assert library.purges.purge(OLD, NOW) == []
    fill(library, "alpha", 0)
    with pytest.raises(FilterError):
        library.purges.purge(Conditions(where=filter_of("nonsense = 1")), NOW)
    assert len(library.purges.purge(OLD, NOW)) == 1
    with pytest.raises(EmptyLibraryError):
        library.search("alpha", 1)
    library.purges.undo(library.purges.undoable(NOW)[0].id, NOW)
    assert library.size == (1, 0)
