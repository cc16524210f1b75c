"""Libraries in a file and on a server alike: not there yet, gone meanwhile, empty, private, and full."""

import random
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from crag.admin.quotas import Quotas
from crag.admin.store import open_store
from crag.core.config import AppConfig
from crag.core.errors import NotFoundError, RoomError, StorageError
from crag.core.types import Document
from crag.storage.library import Library
from crag.storage.places import DataFolder, ServerLibraries, StorageUse
from crag.storage.postgres import Server
from tests.support.library_makers import HashEmbedder

Fill = Callable[..., Document]
OpenLibrary = Callable[..., Library]


@pytest.fixture
def libraries(tmp_path: Path, server: Server | None) -> DataFolder | ServerLibraries:
    """All libraries of the place that a test's libraries are in."""
    return DataFolder(tmp_path) if server is None else ServerLibraries(server)


@pytest.fixture
def open_library(tmp_path: Path, embedder: HashEmbedder, server: Server | None) -> Iterator[OpenLibrary]:
    """As the others have it, but below the folder that `libraries` looks into."""
    with ExitStack() as stack:

        def open(name: str = "library", may_grow: Callable[..., None] | None = None) -> Library:
            return stack.enter_context(Library(tmp_path / "workspaces" / name, embedder, may_grow, server))

        yield open


def remove(name: str, place: Path, url: str) -> None:
    """Remove a library as somebody does it beside the program."""
    if url:
        with create_engine(url).begin() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA w_{name} CASCADE")
    else:
        # At one go: the index may still write words in a thread of its own, while a folder is emptied file by file.
        shutil.rmtree((place / "workspaces" / name).rename(place / "gone"), ignore_errors=True)


def sources(library: Library, query: str) -> Collection[str]:
    return {found.chunk.source for found in library.search(query, 9)}


def test_what_was_never_written_to_reads_as_empty_and_is_nowhere(
    library: Library, libraries: DataFolder | ServerLibraries, fill: Fill, tmp_path: Path, records: str
) -> None:
    assert not library.exists and library.size == (0, 0) and library.documents.all() == [] == library.runs.latest()
    assert library.labels.all() == [] == library.evaluations.all() == library.runs.spending()
    with pytest.raises(NotFoundError):
        library.documents.delete("nothing")
    library.labels.delete("why?", "nothing")
    assert libraries.names() == [] and list(tmp_path.iterdir()) == []
    added = fill(library, "alpha")
    assert library.exists and library.documents.all() == [added] and library.search("alpha", 1)
    assert libraries.names() == ["library"]
    if records == "postgresql":
        assert list(library.folder.iterdir()) == [library.folder / "index"], (
            "a cache, which any server makes for itself"
        )


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_library_that_goes_is_noticed_once_and_then_started_anew(
    open_library: OpenLibrary, fill: Fill, tmp_path: Path, url: str, how: str
) -> None:
    library = open_library()
    fill(library, "alpha", 8)
    assert library.search("alpha", 3)
    remove("library", tmp_path, url)
    if how == "replaced":
        with open_library() as other:
            # As many changes as the one before had: only the library's own id tells them apart.
            fill(other, "omega", 3)
    with pytest.raises(StorageError, match="was deleted or replaced on the d"):
        library.documents.all()
    if how == "deleted":
        assert library.documents.all() == [] and not library.exists
        fill(library, "omega", 3)
    assert sources(library, "omega") == {"omega.pdf"}
    library.close()
    with open_library() as again:
        assert [document.name for document in again.documents.all()] == ["omega.pdf"]
        again.verify()


def test_a_library_takes_no_more_than_it_may_and_deleting_makes_room(
    open_library: OpenLibrary,
    libraries: DataFolder | ServerLibraries,
    server: Server | None,
    fill: Fill,
    tmp_path: Path,
) -> None:
    config = AppConfig.of(data=tmp_path, all_mb=3)
    room = Quotas(open_store(tmp_path, server), lambda: config, StorageUse(libraries))
    library = open_library(may_grow=partial(room.check_growth, "library"))

    def add(label: str) -> Document:
        # A server would press anything more regular together.
        return fill(library, label, more=random.Random(label).randbytes(100_000))

    stored = []
    with pytest.raises(RoomError, match="may hold 3 MB") as raised:
        for number in range(100):
            stored.append(add(f"doc{number}"))
    assert "CRAG_ALL_MB" in raised.value.remedy
    assert 2 < len(stored) <= 30 and library.documents.all() == stored
    assert libraries.size("library") <= 4 * 1024**2
    with pytest.raises(RoomError):
        library.evaluations.save_set("s", "set", "CSV", 1, 0, "x" * 3 * 1024**2)
    for document in stored:
        library.documents.delete(document.id)
    add("after")
