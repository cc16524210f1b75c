"""Words first: a document is found by its words before its vectors are made, and by both once all are there."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import InputError, ModelMismatchError
from crag.core.filters import filter_of
from crag.core.protocols import SearchQuery
from crag.core.purging import Conditions
from crag.core.types import Document
from crag.storage.documents import NewDocument
from crag.storage.library import Library
from crag.storage.unembedded import Standing
from tests.storage.conftest import OpenLibrary
from tests.support.library_makers import HashEmbedder, embed_missing, index_at, make_document

Fill = Callable[..., Document]


def _store(library: Library, label: str, chunks: int = 4) -> Document:
    document, data, made = make_document(label, chunks)
    library.documents.add(document, data, made)
    return document


def _sources(library: Library, text: str, mode: str = "hybrid") -> set[str]:
    return {found.chunk.source for found in library.find(SearchQuery(text, 20, mode=mode))}  # type: ignore[arg-type]


def test_a_document_is_found_by_its_words_before_its_vectors_are_there(
    library: Library, embedder: HashEmbedder
) -> None:
    document = _store(library, "beacon")
    assert library.documents.get(document.id) == document
    found = library.find(SearchQuery("beacon", 20))
    assert {hit.dense for hit in found} == {None} and all(hit.bm25 for hit in found) and len(found) == 4
    assert _sources(library, "beacon", "bm25") == {"beacon.pdf"}
    assert not _sources(library, "beacon", "dense") and not _sources(library, "nothing of it")
    assert {each.chunk.source for each in library.find_in_records(SearchQuery("beacon", 3))} == {"beacon.pdf"}
    embed_missing(library)
    assert all(hit.dense is not None for hit in library.find(SearchQuery("beacon", 20)))
    assert _sources(library, "beacon", "dense") == {"beacon.pdf"} and not library.verify()


def test_beside_others_it_is_ranked_by_its_words(library: Library, fill: Fill) -> None:
    for label in ("alpha", "gamma", "delta"):
        fill(library, label)
    _store(library, "beacon")
    assert library.find(SearchQuery("part beacon", 5))[0].chunk.source == "beacon.pdf"
    assert library.find(SearchQuery("part alpha", 5))[0].chunk.source == "alpha.pdf"


def test_how_far_it_is_stands_in_the_records(open_library: OpenLibrary, embedder: HashEmbedder) -> None:
    library = open_library()
    first, second = _store(library, "alpha", 5), _store(library, "beta", 2)
    assert library.unembedded.count() == 2 and library.unembedded.share() == 0
    before = library.documents.version()
    embed_missing(library, 3)
    assert library.unembedded.standing() == {
        first.id: Standing(done=3, total=5),
        second.id: Standing(done=0, total=2),
    }
    assert library.unembedded.share() == pytest.approx(3 / 7)
    library.unembedded.note("The server is down.")
    library.close()
    library = open_library()
    assert library.unembedded.standing()[second.id].why == "The server is down."
    assert not library.verify() and "beta.pdf" in _sources(library, "beta")
    embed_missing(library, 3)
    assert [*library.unembedded.standing()] == [second.id] and library.documents.version() != before
    embed_missing(library)
    assert not library.unembedded.count() and not library.unembedded.next(10) and not library.verify()


def test_what_is_gone_or_of_another_model_gets_no_vector(open_library: OpenLibrary, embedder: HashEmbedder) -> None:
    library = open_library()
    document = _store(library, "alpha")
    batch = library.unembedded.next(4)
    _store(library, "beta")
    library.documents.delete(document.id)
    library.unembedded.fill([*batch], embedder.embed(["x"] * 4))
    assert library.unembedded.count() == 1 and not library.verify()
    other = HashEmbedder("other")
    library.close()
    library = open_library(embedder=other)
    with pytest.raises(ModelMismatchError):
        embed_missing(library)
    library.unembedded.forget_vectors()
    embed_missing(library)
    assert not library.unembedded.count() and not library.verify()


def test_re_indexing_purging_and_replacing_take_documents_without_vectors(
    library: Library, embedder: HashEmbedder
) -> None:
    document = _store(library, "alpha")
    embed_missing(library, 2)
    library.purges.purge(Conditions(where=filter_of("confidence > 0")))
    assert not library.unembedded.count()
    library.purges.undo(document.id)
    assert [*library.unembedded.standing()] == [document.id] and not library.verify()
    embed_missing(library)
    _store(library, "beta")
    new, data, chunks = make_document("gamma")
    library.documents.store(
        [NewDocument(document=new, data=data, chunks=chunks, instead_of=make_document("beta")[0].id)]
    )
    assert [*library.unembedded.standing()] == [new.id] and "beta.pdf" not in _sources(library, "beta")
    library.unembedded.forget_vectors()
    embed_missing(library)
    assert not library.unembedded.count() and _sources(library, "gamma", "dense") == {"alpha.pdf", "gamma.pdf"}


def test_several_documents_are_stored_all_or_none(library: Library, fill: Fill) -> None:
    known = fill(library, "alpha")
    new = [
        NewDocument(document=made[0], data=made[1], chunks=made[2]) for made in map(make_document, ("beta", "alpha"))
    ]
    with pytest.raises(InputError, match="in the library already"):
        library.documents.store(new)
    assert [each.id for each in library.documents.all()] == [known.id] and not library.unembedded.count()
    assert library.documents.store(new[:1]) == [None] and library.documents.count() == 2


@pytest.mark.parametrize("records", ["sqlite"])
@pytest.mark.parametrize("index", ["embedded", pytest.param("milvus", marks=pytest.mark.slow)])
def test_every_index_finds_by_words_first_and_by_meaning_later(
    tmp_path: Path, embedder: HashEmbedder, uri: str, records: str
) -> None:
    with Library(tmp_path / "w", embedder, open_index=index_at(uri)) as library:
        _store(library, "beacon")
        assert _sources(library, "beacon") == {"beacon.pdf"} and not _sources(library, "beacon", "dense")
        embed_missing(library)
        assert _sources(library, "beacon", "dense") == {"beacon.pdf"}
        nearest = library.find(SearchQuery("beacon part 2", 1, mode="dense"))[0]
        assert nearest.dense == pytest.approx(
            float(_cosine(embedder, "beacon part 2", nearest.chunk.indexed_text)), abs=1e-2
        )


def _cosine(embedder: HashEmbedder, one: str, other: str) -> np.float32:
    first, second = embedder.embed([one, other])
    return np.float32(first @ second)
