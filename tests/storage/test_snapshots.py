"""Versions of a library: taken while it is used, compared, rolled back to whole, and nothing lost by it."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from crag.core.errors import InputError, ModelMismatchError, NotFoundError, RoomError, StorageError
from crag.core.types import Document
from crag.storage.library import Library
from crag.storage.snapshots import BEFORE_ROLLBACK, MOST_SNAPSHOTS, DocumentChange
from tests.storage.test_purges import stored
from tests.storage.test_tracks import run
from tests.support.library_makers import HashEmbedder, make_document

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]


def held(library: Library) -> tuple[object, ...]:
    """All that a version keeps, in an order of its own."""
    documents = sorted(library.documents.all(), key=lambda each: each.id)
    ids = [each.id for each in documents]
    return (
        documents,
        [library.documents.chunks(id) for id in ids],
        [library.documents.file(id) for id in ids],
        [library.documents.fields(id) for id in ids],
        stored(library),
        library.labels.all(),
    )


def test_a_rollback_puts_all_of_it_back_and_keeps_what_was_there(library: Library, fill: Fill) -> None:
    old, kept = fill(library, "zanzibar", 9), fill(library, "beta")
    library.documents.describe(old.id, {"tags": ("a", "b")})
    library.documents.describe(kept.id, {"verified": True})
    library.labels.save("where?", library.documents.chunks(old.id)[0].id, "relevant")
    library.runs.save(run("one", library.documents.chunks(old.id)[:2], [0.9, 0.1]), [])
    tracked, before, found = library.documents.chunk_tracks(old.id), held(library), library.search("zanzibar", 9)
    taken = library.snapshots.take("first")
    assert (taken.documents, taken.chunks, taken.content) == (2, 13, library.documents.content_hash())

    library.documents.delete(old.id)
    fill(library, "gamma")
    library.documents.describe(kept.id, {"verified": False})
    library.runs.save(run("two", library.documents.chunks(kept.id)[:1], [0.4]), [])
    after, runs = held(library), library.runs.ids()
    done = library.snapshots.roll_back("first")
    assert (done.brought, done.removed, done.described) == (1, 1, 1)
    assert held(library) == before and library.documents.chunk_tracks(old.id) == tracked
    assert library.documents.content_hash() == taken.content
    assert library.search("zanzibar", 9) == found and not library.verify()
    assert library.runs.ids() == runs, "runs stay"

    assert done.before.name.startswith(BEFORE_ROLLBACK)
    library.snapshots.roll_back(done.before.name)
    assert held(library) == after and not library.verify()
    assert len(library.snapshots.all()) == 2, "what a snapshot has is not kept again"


def test_two_versions_are_compared_by_document(library: Library, fill: Fill) -> None:
    gone, described = fill(library, "gone", 3), fill(library, "described")
    first, data, chunks = make_document("changed", 2)
    library.documents.add(first, data, chunks, HashEmbedder().embed([each.indexed_text for each in chunks]))
    library.snapshots.take("first")
    library.documents.delete(gone.id)
    library.documents.describe(described.id, {"tags": ("a",)})
    library.documents.delete(first.id)
    _, _, others = make_document("changed again", 5)
    own = [replace(each, document_id="other", source=first.name) for each in others]
    library.documents.add(
        replace(first, id="other"), b"other", own, HashEmbedder().embed([each.indexed_text for each in own])
    )
    fill(library, "added", 6)
    found = [
        DocumentChange(name="added.pdf", kind="added", before=0, now=6),
        DocumentChange(name="changed.pdf", kind="content", before=2, now=5),
        DocumentChange(name="described.pdf", kind="fields", before=4, now=4),
        DocumentChange(name="gone.pdf", kind="gone", before=3, now=0),
    ]
    assert library.snapshots.compare("first") == found
    library.snapshots.take("second")
    assert library.snapshots.compare("first", "second") == found
    assert library.snapshots.compare("second") == []


@pytest.mark.parametrize("records", ["sqlite"])
@pytest.mark.parametrize("left", [0.0, 0.3, 0.9])
def test_a_file_that_was_cut_off_is_named_and_changes_nothing(
    library: Library, fill: Fill, tmp_path: Path, left: float
) -> None:
    fill(library, "alpha", 40)
    library.snapshots.take("whole")
    library.snapshots.take("short")
    (file,) = (tmp_path / "library").glob("**/short.db")
    data = file.read_bytes()
    file.write_bytes(data[: int(left * len(data))])
    fill(library, "beta")
    before = held(library)
    for use in (library.snapshots.roll_back, library.snapshots.compare):
        with pytest.raises(StorageError, match="snapshot short is damaged or cut off"):
            use("short")
    assert held(library) == before
    names = {each.name: each.problem for each in library.snapshots.all()}
    assert names["whole"] == "" and set(names) == {"whole", "short"}
    library.snapshots.delete("short")
    assert [each.name for each in library.snapshots.all()] == ["whole"]


@pytest.mark.parametrize("records", ["sqlite"])
def test_a_changed_file_is_refused_though_it_is_whole(library: Library, fill: Fill, tmp_path: Path) -> None:
    fill(library, "alpha")
    library.snapshots.take("first")
    library.documents.describe(library.documents.all()[0].id, {"tags": ("a",)})
    library.snapshots.take("second")
    (first, second) = (next((tmp_path / "library").glob(f"**/{name}.db")) for name in ("first", "second"))
    with closing(sqlite3.connect(first)) as changed, changed:
        changed.execute("UPDATE documents SET name = 'other.pdf'")
    second.write_bytes(b"no database" * 1000)
    for name in ("first", "second"):
        with pytest.raises(StorageError, match="damaged"):
            library.snapshots.roll_back(name)


@pytest.mark.parametrize("records", ["sqlite"])
def test_names_and_their_number_have_limits(library: Library, fill: Fill) -> None:
    one = fill(library, "alpha")
    library.snapshots.take("First")
    for bad, says in (
        ("first", "already"),
        ("../up", "can't name"),
        (".hidden", "can't name"),
        ("a" * 61, "can't name"),
    ):
        with pytest.raises(InputError, match=says):
            library.snapshots.take(bad)
    for use in (
        library.snapshots.get,
        library.snapshots.roll_back,
        library.snapshots.compare,
        library.snapshots.delete,
    ):
        with pytest.raises(NotFoundError, match="no snapshot"):
            use("../library")
    for number in range(MOST_SNAPSHOTS - 1):
        library.snapshots.take(f"s{number}")
    with pytest.raises(RoomError, match="Delete one"):
        library.snapshots.take("more")
    library.documents.delete(one.id)
    with pytest.raises(RoomError):
        library.snapshots.roll_back("First")
    assert library.documents.all() == [], "without room for the state before it nothing changes"
    library.snapshots.delete("s0")
    assert library.snapshots.roll_back("First").brought == 1


@pytest.mark.parametrize("records", ["sqlite"])
def test_a_library_that_is_written_to_meanwhile_is_kept_as_of_one_moment(library: Library, fill: Fill) -> None:
    fill(library, "start", 30)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            document = fill(library, f"more{number}", 3)
            if number % 2:
                library.documents.delete(document.id)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        taken = [library.snapshots.take(f"s{number}") for number in range(5)]
    finally:
        stop.set()
        writer.join()
    assert all(each.chunks == 30 + 3 * (each.documents - 1) for each in taken)
    assert all(not library.snapshots.get(each.name).problem for each in taken)
    last = held(library)
    done = library.snapshots.roll_back("s0")
    assert library.documents.content_hash() == taken[0].content and not library.verify()
    library.snapshots.roll_back(done.before.name)
    assert held(library) == last


@pytest.mark.parametrize("records", ["sqlite"])
def test_vectors_of_another_model_are_not_put_back(open_library: OpenLibrary, fill: Fill, tmp_path: Path) -> None:
    library = open_library()
    one = fill(library, "alpha")
    library.snapshots.take("first")
    library.documents.delete(one.id)
    other = open_library(embedder=HashEmbedder("hash-v2"))
    with pytest.raises(ModelMismatchError, match="hash-v1"):
        other.snapshots.roll_back("first")


@pytest.mark.parametrize("records", ["sqlite"])
def test_a_quota_refuses_a_snapshot_and_leaves_nothing(open_library: OpenLibrary, fill: Fill, tmp_path: Path) -> None:
    full = threading.Event()

    def may_grow(more: int = 0, *, makes: bool = False) -> None:
        if full.is_set() and more:
            raise RoomError("The workspace is full.")

    library = open_library(may_grow=may_grow)
    fill(library, "alpha")
    full.set()
    with pytest.raises(RoomError, match="full"):
        library.snapshots.take("first")
    assert library.snapshots.all() == []
    assert [each.name for each in (tmp_path / "library" / "snapshots").iterdir()] == [".turn"]


def test_a_document_that_was_read_otherwise_comes_back_as_it_was(library: Library, fill: Fill) -> None:
    document = fill(library, "alpha", 4)
    before = held(library)
    library.snapshots.take("first")
    _, data, chunks = make_document("alpha", 4)
    fewer = chunks[:2]
    vectors = HashEmbedder().embed([each.indexed_text for each in fewer])
    library.documents.delete(document.id)
    library.documents.add(replace(document, chunks=2), data, fewer, vectors)
    assert [each.kind for each in library.snapshots.compare("first")] == ["chunks"]
    done = library.snapshots.roll_back("first")
    assert (done.brought, done.removed) == (1, 1) and held(library) == before and not library.verify()
