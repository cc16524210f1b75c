"""Copying libraries between folders and a database: every row arrives, whatever happens on the way."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from crag.admin.moving import TABLES, Copy, copy_library, fill_index, kept_copied
from crag.core.errors import CancelledError, NotFoundError, StorageError
from crag.core.types import Document
from crag.index.chunk_index import Contents
from crag.index.embedded import EmbeddedIndex
from crag.storage import store
from crag.storage.library import Library
from crag.storage.places import Place
from crag.storage.postgres import Server
from crag.storage.records import CHOSEN, SIGNED_WITH, KeyValueStore
from crag.storage.tables import chunks, documents, runs
from tests.support.kills import ROOT
from tests.support.library_makers import HashEmbedder
from tests.support.many_rows import many, rows_of, run_row
from tests.support.shell import environment
from tests.support.sizes import sized

Fill = Callable[..., Document]
NAMES = [table.name for table in TABLES]


@pytest.fixture
def server(database: str) -> Iterator[Server]:
    made = Server(database)
    yield made
    made.close()


@pytest.fixture
def source(tmp_path: Path, fill: Fill) -> Place:
    """A library in a folder with rows of every kind, some numbers given out and used no more."""
    with Library(tmp_path / "source", HashEmbedder()) as library:
        many(library, fill)
    return Place.at(tmp_path / "source")


def id_of(place: Place) -> str:
    records = place.records()
    with records.read() as connection:
        found = store.meta(connection, "library")
    records.close()
    return found


def whole(copy: Copy) -> bool:
    return [each.table for each in copy.tables] == [*NAMES, "meta"] and all(each.same for each in copy.tables)


# What arrives


def test_a_copy_and_its_copy_back_have_every_row_and_an_id_of_their_own(
    source: Place, server: Server, tmp_path: Path, fill: Fill
) -> None:
    there, back, beside = server.place("default"), Place.at(tmp_path / "back"), server.place("beside")
    before = rows_of(source)
    assert all(before[name] for name in NAMES)
    for one, other in ((source, there), (there, back), (there, beside), (source, Place.at(tmp_path / "same"))):
        copy = copy_library(one, other)
        assert whole(copy) and not copy.found
        assert [each.target for each in copy.tables[:-1]] == [len(before[name]) for name in NAMES]
        assert rows_of(other) == before
    assert len({id_of(each) for each in (source, there, back, beside)}) == 4
    assert rows_of(source) == before
    assert sorted(path.name for path in back.folder.iterdir()) == ["library.db", "library.reserve"]
    assert set(server.sizes()) == {"w_default", "w_beside"}


@pytest.mark.slow
def test_numbers_that_were_given_out_are_not_given_out_again(
    source: Place, server: Server, tmp_path: Path, fill: Fill
) -> None:
    there, back = server.place("default"), Place.at(tmp_path / "back")
    copy_library(source, there)
    copy_library(there, back)
    for place in (there, back):
        folder = tmp_path / place.name if place is back else tmp_path / "data" / "default"
        with Library(folder, HashEmbedder(), server=None if place is back else server) as library:
            fill(library, "omega", 2)
            with library._database.write() as connection:
                connection.execute(insert(runs).values(run_row(9)))
                assert list(connection.scalars(select(documents.c.number).order_by(documents.c.number))) == [1, 2, 3, 5]
                assert list(connection.scalars(select(chunks.c.number).order_by(chunks.c.number)))[-2:] == [23, 24]
                assert connection.scalar(select(runs.c.number).where(runs.c.id == "run9")) == 9
            assert library.search("omega", 1)[0].chunk.source == "omega.pdf"
            library.verify()


# What is refused


def test_what_is_no_copy_of_the_source_is_refused_and_left_alone(
    source: Place, server: Server, tmp_path: Path, fill: Fill
) -> None:
    with Library(tmp_path / "other", HashEmbedder()) as library:
        fill(library, "other")
    with Library(tmp_path / "taken", HashEmbedder(), server=server) as library:
        fill(library, "theirs")
    for target in (Place.at(tmp_path / "other"), server.place("taken")):
        before = rows_of(target)
        with pytest.raises(StorageError, match="which is no copy of this one"):
            copy_library(source, target)
        assert rows_of(target) == before


def test_nothing_is_not_copied(server: Server, tmp_path: Path) -> None:
    for place in (Place.at(tmp_path / "nowhere"), server.place("nowhere")):
        with pytest.raises(NotFoundError, match="no library nowhere"):
            copy_library(place, Place.at(tmp_path / "target"))
    assert list(tmp_path.iterdir()) == []


# What happens on the way


@pytest.mark.parametrize("to_server", [False, True])
def test_a_copy_that_was_stopped_leaves_nothing_that_an_app_sees_and_can_be_made_again(
    source: Place, server: Server, tmp_path: Path, fill: Fill, to_server: bool
) -> None:
    target = server.place("target") if to_server else Place.at(tmp_path / "target")
    cancel = threading.Event()
    with pytest.raises(CancelledError, match="stopped"):
        copy_library(source, target, cancel=cancel, watch=lambda table, *_: cancel.set() if table == "chunks" else None)
    assert not any(rows_of(target)[name] for name in NAMES), "an app sees an empty library at most"
    with Library(source.folder, HashEmbedder()) as library:
        library.documents.delete(library.documents.all()[0].id)
        fill(library, "added")
    copy = copy_library(source, target)
    assert copy.whole and not copy.found and rows_of(target) == rows_of(source)


@pytest.mark.slow
@pytest.mark.parametrize("to_server", [True, False])
def test_kills_at_any_moment_end_in_the_same_copy(
    source: Place, server: Server, database: str, tmp_path: Path, to_server: bool
) -> None:
    moments = random.Random(14)
    for number in range(sized(12, 1)):
        folder = tmp_path / f"target{number}"
        target = server.place(folder.name) if to_server else Place.at(folder)
        if copy_until_killed(source, folder, database if to_server else "", moments.randint(1, 25)):
            assert folder.name not in {name.removeprefix("w_") for name in server.sizes()}
            assert copy_library(source, target).whole
        assert rows_of(target) == rows_of(source)
        assert copy_library(source, target).found


def copy_until_killed(source: Place, folder: Path, url: str, lines: int) -> bool:
    """A process that copies, killed after so many steps; whether it was killed before its end."""
    child = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "support" / "copying_child.py"), str(source.folder), "", folder, url],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert child.stdout is not None
    for _ in range(lines):
        if not child.stdout.readline():
            break
    child.send_signal(signal.SIGKILL)
    child.stdout.read()
    child.stdout.close()
    assert child.wait() in (0, -signal.SIGKILL)
    return child.returncode != 0


# What belongs to no library


def test_another_secret_is_not_replaced_and_other_choices_are_kept(tmp_path: Path, server: Server) -> None:
    one, other = KeyValueStore(tmp_path), server.values
    for kept, value in ((one, b"one"), (other, b"other")):
        kept.put(CHOSEN, value)
    assert kept_copied(one, other) == {CHOSEN: "other"} and other.read(CHOSEN) == b"other"
    for kept, value in ((one, b"one"), (other, b"other")):
        kept.put(SIGNED_WITH, value)
    with pytest.raises(StorageError, match="keys of their own"):
        kept_copied(one, other)
    assert other.read(SIGNED_WITH) == b"other"


def in_folder(place: Place) -> Callable[[Contents], EmbeddedIndex]:
    return lambda contents: EmbeddedIndex(place.folder / "index", contents)


def test_a_library_of_nothing_but_runs_is_copied_too(tmp_path: Path, server: Server) -> None:
    with Library(tmp_path / "source", HashEmbedder()) as library, library._database.write() as connection:
        connection.execute(insert(runs).values(run_row(1)))
    source, there, back = Place.at(tmp_path / "source"), server.place("runs"), Place.at(tmp_path / "back")
    assert whole(copy_library(source, there)) and whole(copy_library(there, back))
    assert rows_of(back) == rows_of(source)
    assert not fill_index(back, in_folder(back))
