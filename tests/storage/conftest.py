"""An open library, in a file and on a server, and a way to fill it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crag.core.types import Document
from crag.storage.library import Library
from crag.storage.postgres import Server, server_at
from tests.support import library_makers
from tests.support.library_makers import HashEmbedder

OpenLibrary = Callable[..., Library]
ON_A_SERVER = pytest.param("postgresql", marks=pytest.mark.slow)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What opens a library is run with its records in a file, and with them on a server, unless it says itself how."""
    chosen = any("records" in each.args[0] for each in metafunc.definition.iter_markers("parametrize"))
    if "records" in metafunc.fixturenames and not chosen:
        in_files = any(metafunc.definition.iter_markers("files"))
        metafunc.parametrize("records", ["sqlite"] if in_files else ["sqlite", ON_A_SERVER])


@pytest.fixture
def url(records: str, request: pytest.FixtureRequest) -> str:
    """The address of the database that holds a test's libraries; nothing for those in files."""
    return "" if records == "sqlite" else str(request.getfixturevalue("database"))


@pytest.fixture
def server(url: str) -> Iterator[Server | None]:
    """What a test's libraries are opened with beside their folder."""
    made = server_at(url)
    yield made
    if made is not None:
        made.close()


@pytest.fixture
def uri(index: str, request: pytest.FixtureRequest) -> str:
    """The address of the Milvus that has the indexes of a test's libraries; nothing for the embedded index."""
    return "" if index == "embedded" else str(request.getfixturevalue("milvus_server").uri)


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def open_library(tmp_path: Path, embedder: HashEmbedder, server: Server | None) -> Iterator[OpenLibrary]:
    """open_library(name="library", embedder=…, may_grow=…): the library of that name, closed at the end."""
    with ExitStack() as stack:

        def open(name: str = "library", embedder: HashEmbedder = embedder, may_grow: object = None) -> Library:
            return stack.enter_context(Library(tmp_path / name, embedder, may_grow, server))  # type: ignore[arg-type]

        yield open


@pytest.fixture
def library(open_library: OpenLibrary) -> Library:
    return open_library()


@pytest.fixture
def fill() -> Callable[..., Document]:
    """fill(library, label, …): adds a made document and returns it."""
    return library_makers.fill
