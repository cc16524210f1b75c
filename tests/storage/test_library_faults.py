"""A file or disk that fails: a clear message with a cure, and nothing stored is lost or overwritten."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from crag.core.errors import IndexUnavailableError, StorageError
from crag.core.protocols import SearchQuery
from crag.core.types import Document
from crag.index.chunk_index import ChunkIndex, Contents
from crag.storage.database import Database
from crag.storage.library import Library
from crag.storage.sqlite import SqliteFile, translate_errors
from crag.storage.tables import LIBRARY, documents
from tests.support.library_makers import HashEmbedder, change, embed_missing

Fill = Callable[..., Document]
pytestmark = pytest.mark.files


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "message", "remedy"),
    [
        (sqlite_error(sqlite3.SQLITE_FULL), "no room left", "Free some disk space"),
        (sqlite_error(sqlite3.SQLITE_READONLY_DIRECTORY), "can't be written", "writable"),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), "can't be opened", "writable"),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), "locked by another program", "Wait"),
        (sqlite_error(sqlite3.SQLITE_CORRUPT), "damaged", "left exactly as it is"),
        (sqlite_error(sqlite3.SQLITE_NOTADB), "damaged", "backup"),
        (sqlite_error(sqlite3.SQLITE_IOERR), "as SQLite says it", "Check the disk"),
        (OSError(28, "full"), "no room left", "Free some disk space"),
        (PermissionError(13, "denied"), "can't be written", "writable"),
        (OSError(30, "read-only"), "can't be written", "writable"),
        (OSError(5, "input/output error"), "input/output error", "Check the disk"),
    ],
)
def test_each_failure_has_its_own_message_and_cure(error: Exception, message: str, remedy: str) -> None:
    with pytest.raises(StorageError) as raised, translate_errors(Path("library.db")):
        raise error
    assert message in raised.value.message
    assert remedy in raised.value.remedy
    assert raised.value.__cause__ is error


def test_a_read_only_folder(library: Library, fill: Fill, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write to read-only folders")
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    with pytest.raises(StorageError, match="writable"):
        Library(locked / "library", HashEmbedder())


def test_a_full_disk_keeps_what_is_stored(library: Library, fill: Fill) -> None:
    kept = fill(library, "alpha")
    # A page limit on every connection of the pool stands in for a full disk: SQLite fails in the same place.
    with library._database.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 10}")
    with pytest.raises(StorageError, match="no room left"):
        fill(library, "beta", more=bytes(500_000))
    assert library.documents.all() == [kept]
    assert library.search("alpha", 3)
    library.verify()


PAGE = 4096
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "of zeros": lambda whole: bytes(len(whole)),
    "cut to half": lambda whole: whole[: len(whole) // 2],
    "cut to its first page": lambda whole: whole[:PAGE],
    "not a database": lambda whole: b"these are my notes, do not lose them" * 500,
    "header flipped": lambda whole: flipped(whole, 0, 16),
    "format flipped": lambda whole: flipped(whole, 47, 48),
    "version flipped": lambda whole: flipped(whole, 63, 64),
    "free pages flipped": lambda whole: flipped(whole, 32, 40),
    "pages flipped": lambda whole: flipped(whole, PAGE, len(whole)),
    "middle page flipped": lambda whole: flipped(whole, (at := len(whole) // PAGE // 2 * PAGE), at + PAGE),
}


def flipped(whole: bytes, start: int, end: int) -> bytes:
    return whole[:start] + bytes(byte ^ 0xFF for byte in whole[start:end]) + whole[end:]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_as_such_and_left_as_it_is(library: Library, fill: Fill, damage: str) -> None:
    for label in ("alpha", "beta", "gamma"):
        fill(library, label, 60)
    library.close()
    path = library.folder / "library.db"
    path.write_bytes(before := DAMAGES[damage](path.read_bytes()))
    with pytest.raises(StorageError, match="damaged") as raised, Library(library.folder, HashEmbedder()) as opened:
        opened.verify()
    assert "library library" in raised.value.message and "left exactly as it is" in raised.value.remedy
    assert path.read_bytes() == before


def test_a_file_that_is_emptied_is_no_new_library(library: Library, fill: Fill) -> None:
    fill(library, "alpha")
    library.rest()
    (library.folder / "library.db").write_bytes(b"")
    for use in (library.documents.all, lambda: fill(library, "beta"), lambda: library.documents.delete("alpha")):
        with pytest.raises(StorageError, match="damaged"):
            use()
    assert (library.folder / "library.db").read_bytes() == b""


def test_a_row_that_cannot_be_read_is_damage(library: Library, fill: Fill) -> None:
    fill(library, "alpha")
    change(library, update(documents).values(record='{"id": "al'))
    for use in (library.documents.all, library.verify):
        with pytest.raises(StorageError, match="damaged"):
            use()


def test_a_file_that_another_library_took_the_place_of_is_said_and_nothing_is_lost(
    library: Library, fill: Fill, embedder: HashEmbedder, tmp_path: Path
) -> None:
    kept = fill(library, "alpha")
    with Library(tmp_path / "other", embedder) as other:
        foreign = fill(other, "omega")
    library.rest()
    mine, theirs = library.folder / "library.db", tmp_path / "other" / "library.db"
    mine.rename(tmp_path / "mine.db")
    shutil.copy(theirs, mine)
    with pytest.raises(StorageError, match="deleted or replaced"):
        library.documents.all()
    assert library.documents.all() == [foreign] and {each.chunk.source for each in library.search("alpha", 9)} == {
        "omega.pdf"
    }
    library.rest()
    (tmp_path / "mine.db").rename(mine)
    with pytest.raises(StorageError, match="deleted or replaced"):
        library.documents.all()
    assert library.documents.all() == [kept] and not library.verify()


def test_overwritten_vectors_are_noticed(library: Library, fill: Fill) -> None:
    fill(library, "alpha")
    library.close()
    with sqlite3.connect(library.folder / "library.db") as connection:
        connection.execute("DELETE FROM vectors WHERE chunk = 2")
    with Library(library.folder, HashEmbedder()) as opened:
        with pytest.raises(StorageError, match="4 chunks, but 3 vectors"):
            opened.verify()
        with pytest.raises(StorageError, match="vectors are incomplete") as raised:
            opened.search("alpha", 3)
        assert "Re-index" in raised.value.remedy
        opened.unembedded.forget_vectors()
        embed_missing(opened)
        assert len(opened.search("alpha", 9)) == 4


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "library.db") as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    with pytest.raises(StorageError, match="another program"):
        Library(tmp_path, HashEmbedder())
    with sqlite3.connect(tmp_path / "library.db") as connection:
        assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == ["recipes"]


@pytest.mark.parametrize("harm", ["missing", "garbage", "empty", "of another library", "stale"])
def test_an_index_that_cannot_be_believed_is_made_anew(
    library: Library, fill: Fill, embedder: HashEmbedder, tmp_path: Path, harm: str
) -> None:
    fill(library, "alpha", 30)
    expected = [found.chunk.id for found in library.find(SearchQuery("alpha copper", 8, mode="dense"))]
    library.close()
    index = library.folder / "index"
    files = [path for path in index.rglob("*") if path.is_file()]
    if harm == "missing":
        shutil.rmtree(index)
    elif harm in ("garbage", "empty"):
        for file in files:
            file.write_bytes(os.urandom(5_000) if harm == "garbage" else b"")
    elif harm == "of another library":
        with Library(tmp_path / "other", embedder) as other:
            fill(other, "omega", 30)
            other.search("omega", 1)
        shutil.rmtree(index)
        shutil.copytree(tmp_path / "other" / "index", index)
    else:
        with Library(library.folder, embedder, open_index=unreachable) as reopened:
            fill(reopened, "beta", 5)
            reopened.documents.delete(fill(reopened, "gamma", 5).id)
    with Library(library.folder, embedder) as reopened:
        found = [each.chunk.id for each in reopened.find(SearchQuery("alpha copper", 8, mode="dense"))]
        assert set(found) & set(expected) if harm == "stale" else found == expected
        assert not reopened.verify()


def unreachable(contents: Contents) -> ChunkIndex:
    raise IndexUnavailableError("The index is out of reach.")


def test_a_folder_in_which_no_index_can_be_made_does_not_matter(library: Library, fill: Fill) -> None:
    document = fill(library, "alpha")
    (library.folder / "index").write_text("a file stands where the folder should be")
    with pytest.raises(IndexUnavailableError, match="can't be written"):
        library.search("alpha", 3)
    assert {found.chunk.document_id for found in library.find_in_records(SearchQuery("alpha", 3))} == {document.id}


def test_a_closed_library_says_so(library: Library) -> None:
    library.close()
    library.close()
    with pytest.raises(StorageError, match="closed"):
        library.documents.all()


class Meanwhile(SqliteFile):
    """A file of which something happens once, behind the beginning of the first transaction."""

    happens: Callable[[], object] | None = None

    @contextmanager
    def transaction(self, **how: Any) -> Iterator[tuple[Connection, Hashable]]:
        with super().transaction(**how) as begun:
            happens, self.happens = self.happens, None
            if happens:
                happens()
            yield begun


def test_what_is_read_while_another_thread_makes_the_library_is_empty_and_no_fault(tmp_path: Path) -> None:
    place = Meanwhile(tmp_path / "library.db", LIBRARY)
    with closing(Database(place)) as database:

        def make() -> None:
            with database.write():
                pass

        place.happens = make
        with database.read() as connection:
            assert connection.execute(select(documents)).all() == []
        assert database.exists
