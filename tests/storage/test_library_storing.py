"""What goes into a library comes out the same, once, and leaves nothing behind when it is deleted."""

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from crag.core.errors import (
    EmptyLibraryError,
    InputError,
    ModelMismatchError,
    NotFoundError,
    ProviderError,
    QuestionError,
)
from crag.core.protocols import SearchQuery
from crag.core.types import Document
from crag.storage.documents import NewDocument
from crag.storage.library import Library
from crag.storage.store import count
from crag.storage.tables import metadata
from tests.support.library_makers import HashEmbedder, embed_missing, make_document

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]


def rows(library: Library, of: str) -> int:
    with library._database.read() as connection:
        return count(connection, metadata.tables[of])


def test_a_document_comes_back_as_it_was_added(library: Library, embedder: HashEmbedder) -> None:
    document, data, chunks = make_document("alpha", 5)
    library.documents.add(document, data, chunks, embedder.embed([chunk.indexed_text for chunk in chunks]))
    assert library.documents.all() == [document]
    assert library.documents.get(document.id) == document
    assert library.documents.file(document.id) == data
    assert library.documents.chunks(document.id) == chunks
    assert library.documents.chunks(document.id, page=2) == [chunk for chunk in chunks if chunk.page == 2]
    assert library.documents.chunks(document.id, lines=False) == [
        replace(chunk, lines=(), tables=()) for chunk in chunks
    ]
    assert library.documents.chunk(chunks[3].id) == chunks[3]
    stored = library.points.vectors(library.points.numbers())
    np.testing.assert_array_equal(stored, embedder.embed([chunk.indexed_text for chunk in chunks]))
    assert library.size == (1, 5)
    library.verify()


def test_the_same_content_is_refused_and_the_library_unchanged(library: Library, fill: Fill) -> None:
    fill(library, "alpha")
    with pytest.raises(InputError, match="in the library already"):
        fill(library, "alpha")
    assert library.size == (1, 4)
    library.verify()


def test_a_document_that_fails_half_way_is_absent(library: Library, fill: Fill, embedder: HashEmbedder) -> None:
    fill(library, "alpha")
    document, data, chunks = make_document("beta", 6)
    twice = [*chunks, chunks[0]]
    with pytest.raises(Exception, match=r"(?i)unique"):
        library.documents.add(document, data, twice, embedder.embed([chunk.indexed_text for chunk in twice]))
    assert library.size == (1, 4)
    assert [found.name for found in library.documents.all()] == ["alpha.pdf"]
    library.verify()


def test_deleting_leaves_nothing_of_a_document(library: Library, fill: Fill) -> None:
    kept = fill(library, "alpha", 7)
    gone = fill(library, "zanzibar", 9)
    library.labels.save("where?", library.documents.chunks(gone.id)[0].id, "relevant")
    library.documents.delete(gone.id)
    assert library.size == (1, 7)
    for of, left in {"files": 1, "chunks": 7, "vectors": 7, "labels": 0}.items():
        assert rows(library, of) == left, of
    assert {found.chunk.document_id for found in library.search("zanzibar", 20)} == {kept.id}
    assert library.find(SearchQuery("zanzibar", 20, mode="bm25")) == []
    for look in (library.documents.get, library.documents.file, library.documents.chunks, library.documents.delete):
        with pytest.raises(NotFoundError):
            look(gone.id)
    assert not library.verify()


@pytest.mark.files
def test_deleting_leaves_no_word_of_a_document_in_the_files(library: Library, fill: Fill) -> None:
    fill(library, "alpha", 7)
    library.documents.delete(fill(library, "zanzibar", 9).id)
    library.search("alpha", 1)
    library.close()
    files = [library.folder / "library.db", *(path for path in library.folder.glob("index/**/*") if path.is_file())]
    assert len(files) > 5
    assert not [path.name for path in files if b"zanzibar" in path.read_bytes()]


@pytest.mark.files
def test_deleting_gives_the_space_back(library: Library, fill: Fill) -> None:
    library.documents.delete(fill(library, "alpha", more=bytes(3_000_000)).id)
    library.close()
    assert (library.folder / "library.db").stat().st_size < 500_000


def test_odd_text_is_stored_with_its_length(library: Library, embedder: HashEmbedder, records: str) -> None:
    text = "half a pair \ud83d, a nul \x00, a bell \x07 and 漢字 Ünïcode"
    document, data, chunks = make_document("odd", texts=[text])
    library.documents.add(document, data, chunks, embedder.embed(["odd"]))
    stored = library.documents.chunk(chunks[0].id).text
    assert len(stored) == len(text)
    kept = text.replace("\ud83d", "\ufffd")
    assert stored == (kept if records == "sqlite" else kept.replace("\0", "\ufffd"))


def test_vectors_of_another_shape_or_not_finite_are_refused(library: Library) -> None:
    document, data, chunks = make_document("alpha")
    with pytest.raises(ValueError, match="as many vectors"):
        library.documents.add(document, data, chunks, np.ones((3, 64), dtype=np.float32))
    with pytest.raises(ValueError, match="finite"):
        library.documents.add(document, data, chunks, np.full((4, 64), np.nan, dtype=np.float32))
    assert library.size == (0, 0)


def test_questions_that_cannot_be_searched_are_named(library: Library, fill: Fill) -> None:
    with pytest.raises(EmptyLibraryError):
        library.search("alpha", 3)
    fill(library, "alpha")
    with pytest.raises(QuestionError):
        library.search(" \n", 3)
    with pytest.raises(InputError):
        library.search("alpha", 0)


def test_another_model_is_refused_until_the_library_is_reindexed(
    library: Library, fill: Fill, open_library: OpenLibrary
) -> None:
    document = fill(library, "alpha", 9)
    before = library.search("alpha copper", 5)
    library.close()
    other = HashEmbedder("hash-v2", 96)
    with open_library("library", other) as reopened:
        for refused in (
            reopened.check_model,
            lambda: reopened.search("alpha", 3),
            lambda: reopened.documents.add(*make_document("beta"), other.embed(["a", "b", "c", "d"])),
        ):
            with pytest.raises(ModelMismatchError, match=r"hash-v1.*hash-v2"):
                refused()
        reopened.unembedded.forget_vectors()
        reopened.check_model()
        assert {hit.dense for hit in reopened.search("alpha copper", 5)} == {None}, "found by its words"
        embed_missing(reopened)
        after = reopened.search("alpha copper", 5)
        assert after[0].chunk == before[0].chunk
        assert reopened.documents.get(document.id).model == "hash-v2"
        reopened.verify()


def test_vectors_stay_where_no_new_one_can_be_made(
    library: Library, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(library, "alpha", 9)
    with monkeypatch.context() as gone, pytest.raises(ProviderError):
        gone.setattr(library.embedder, "embed", Mock(side_effect=ProviderError("The server is gone.")))
        library.unembedded.forget_vectors()
    assert all(hit.dense is not None for hit in library.search("alpha", 3))


# A document in another one's place: what goes over with it, what is lost and counted, and that it is one step


SAME, OLD, NEW = "The harbour ledger is kept in copper.", "The willow orbits once.", "The turbine turns twice."


def put(library, label, *texts, instead_of=""):
    document, data, chunks = make_document(label, texts=texts)
    document = replace(document, earlier=(instead_of,) if instead_of else ())
    vectors = HashEmbedder().embed([chunk.indexed_text for chunk in chunks])
    new = NewDocument(document=document, data=data, chunks=chunks, vectors=vectors, instead_of=instead_of)
    [lost] = library.documents.store([new])
    return document, lost


def test_fields_go_over_and_labels_of_what_is_said_again(library) -> None:
    old, _ = put(library, "page", SAME, OLD, SAME)
    library.documents.describe(old.id, {"tags": ("a",), "verified": True})
    chunks = library.documents.chunks(old.id)
    for chunk in chunks:
        library.labels.save("where?", chunk.id, "relevant")
    put(library, "other", "The meadow lies by the glacier.")
    new, lost = put(library, "page 2", NEW, SAME, instead_of=old.id)
    assert (lost.labels, lost.records, lost.verified) == (2, 0, True)
    _, second = library.documents.chunks(new.id)
    assert [label.chunk_id for label in library.labels.all()] == [second.id] and second.text == SAME
    assert library.documents.given() == {new.id: {"tags": ("a",)}}
    assert library.documents.given([new.id, "none"]) == {new.id: {"tags": ("a",)}}
    assert library.documents.get(new.id).earlier == (old.id,)
    assert library.size == (2, 3)
    assert {found.chunk.document_id for found in library.search("turbine", 1)} == {new.id}
    assert not library.verify()
    with pytest.raises(NotFoundError):
        library.documents.get(old.id)


def test_nothing_happens_where_the_new_one_is_known_or_the_old_one_is_not_there(library) -> None:
    old, _ = put(library, "page", SAME, OLD)
    other, _ = put(library, "other", NEW)
    with pytest.raises(InputError, match="in the library already"):
        put(library, "other", NEW, instead_of=old.id)
    with pytest.raises(NotFoundError):
        put(library, "page 2", NEW, SAME, instead_of="none")
    assert {document.id for document in library.documents.all()} == {old.id, other.id}
    assert len(library.documents.chunks(old.id)) == 2


# A person's word on a chunk: stored, replaced, taken back


def test_a_label_is_replaced_by_a_later_one_and_can_be_taken_back(library, fill) -> None:
    first, second, *_ = library.documents.chunks(fill(library, "one").id)
    library.labels.save("where?", first.id, "relevant")
    library.labels.save("where?", second.id, "relevant")
    library.labels.save("who?", first.id, "relevant")
    library.labels.save("where?", first.id, "irrelevant")
    found = {(label.question, label.chunk_id): label.label for label in library.labels.all()}
    assert found == {
        ("where?", first.id): "irrelevant",
        ("where?", second.id): "relevant",
        ("who?", first.id): "relevant",
    }
    library.labels.delete("where?", first.id)
    library.labels.delete("where?", first.id)
    assert {(label.question, label.chunk_id) for label in library.labels.all()} == {
        ("where?", second.id),
        ("who?", first.id),
    }


@pytest.mark.parametrize("synced", [True, False])
def test_a_write_waits_for_the_disk_only_where_it_is_synced(library: Library, synced: bool) -> None:
    with library._database.write(synced=not synced):
        pass  # what one transaction chose is not the next one's
    with library._database.write(synced=synced) as connection:
        on_server = connection.dialect.name == "postgresql"
        asked = "SHOW synchronous_commit" if on_server else "PRAGMA synchronous"
        found = connection.exec_driver_sql(asked).scalar()
    assert found == ({True: "on", False: "off"} if on_server else {True: 2, False: 1})[synced]
