"""Many threads and several processes on one library: nobody sees a half, everybody sees the latest."""

import itertools
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crag.core.errors import StorageError
from crag.core.types import Document
from crag.storage import postgres, sqlite
from crag.storage.library import Library
from tests.support.kills import work_until_killed
from tests.support.library_makers import HashEmbedder
from tests.support.shell import started

pytestmark = pytest.mark.slow

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]


def test_readers_see_whole_documents_while_a_writer_adds_and_deletes(library: Library, fill: Fill) -> None:
    fill(library, "anchor", 6)
    done = threading.Event()

    def read() -> int:
        count = 0
        while not done.is_set() or count == 0:
            found = library.search("anchor copper willow", 10)
            assert found and [each.rank for each in found] == list(range(1, len(found) + 1))
            assert all(each.similarity >= later.similarity for each, later in itertools.pairwise(found))
            documents, chunks = library.size
            assert chunks == 6 + (documents - 1) * 5
            count += 1
        return count

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        try:
            for number in range(25):
                added = fill(library, f"passing{number}", 5)
                if number % 2:
                    library.documents.delete(added.id)
        finally:
            done.set()
        assert all(reader.result(timeout=30) > 0 for reader in readers)
    library.verify()


def test_writers_in_many_threads_all_succeed(library: Library, fill: Fill) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: fill(library, f"thread{number}", 3), range(24)))
    assert library.size == (24, 72)
    library.verify()


def test_what_another_library_object_does_is_seen_at_the_next_search(
    library: Library, fill: Fill, embedder: HashEmbedder, open_library: OpenLibrary
) -> None:
    fill(library, "alpha")
    assert len(library.search("alpha", 50)) == 4
    with open_library("library", embedder) as other:
        added = fill(other, "zanzibar", 6)
        assert library.search("zanzibar", 50)[0].chunk.document_id == added.id
        other.documents.delete(added.id)
    assert len(library.search("zanzibar", 50)) == 4


def test_two_processes_add_to_one_library(tmp_path: Path, open_library: OpenLibrary, url: str) -> None:
    folder = tmp_path / "library"
    with ThreadPoolExecutor(2) as pool:
        confirmed = [*pool.map(lambda prefix: work_until_killed(folder, prefix, 0.4, url), ["left", "right"])]
    with open_library() as library:
        library.verify()
        stored = {document.id for document in library.documents.all()}
        assert all(each.there and set(each.there) <= stored for each in confirmed)
        assert not any(stored & set(each.gone) for each in confirmed)
        assert library.search("left right", 3)


def test_two_processes_create_one_library_at_once(tmp_path: Path, url: str) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.support.library_makers import HashEmbedder, on_disk; "
        "from crag.storage.library import Library; from crag.storage.postgres import server_at; "
        "on_disk(Library(Path(sys.argv[1]), HashEmbedder(), server=server_at(sys.argv[2]))).close()"
    )
    children = [started("-c", code, tmp_path / "library", url, stderr=subprocess.PIPE) for _ in range(3)]
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors


def test_a_library_that_stays_locked_is_reported(
    library: Library, fill: Fill, monkeypatch: pytest.MonkeyPatch, embedder: HashEmbedder, open_library: OpenLibrary
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_MS", 50)
    monkeypatch.setattr(postgres, "_LOCK_MS", 50)
    fill(library, "alpha")
    with open_library("library", embedder) as impatient, library._database.write():
        with pytest.raises(StorageError, match=r"locked (by|for) another program"):
            fill(impatient, "beta")
        assert impatient.search("alpha", 2), "reading goes on while another writes"
    assert library.size == (1, 4)
