"""A document in another one's place: what goes over with it, what is lost and counted, and that it is one step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.errors import InputError, NotFoundError
from tests.support.library_makers import HashEmbedder, make_document

SAME, OLD, NEW = "The harbour ledger is kept in copper.", "The willow orbits once.", "The turbine turns twice."


def put(library, label, *texts, instead_of=""):
    document, data, chunks = make_document(label, texts=texts)
    document = replace(document, earlier=(instead_of,) if instead_of else ())
    vectors = HashEmbedder().embed([chunk.indexed_text for chunk in chunks])
    if instead_of:
        return document, library.documents.replace(instead_of, document, data, chunks, vectors)
    library.documents.add(document, data, chunks, vectors)
    return document, None


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
