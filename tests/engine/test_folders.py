"""A folder beside a library: what is new, changed, moved, gone or neither, and the library brought in step with it."""

import contextlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.errors import CancelledError, InputError
from crag.core.ingesting import DocumentFailed, DocumentRefreshed, IngestStep
from crag.engine import Engine
from crag.ingest import files as ingest_files
from crag.pipeline.folders import FileState, FolderComparison
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, spread

pytestmark = pytest.mark.usefixtures("read_here")

FERRY, BRIDGE, TOWER = (
    "The ferry over the river Veldt carries sixty people every hour.",
    "The bridge at Orne was built of iron in the year 1871.",
    "The tower of Marrow has ninety steps and one bell of bronze.",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "papers"
    (place / "below").mkdir(parents=True)
    (place / "ferry.txt").write_text(FERRY)
    (place / "below" / "bridge.txt").write_text(BRIDGE)
    return place


class Counting(WordEmbedder):
    """Counts the texts that it embeds."""

    embedded = 0

    def embed(self, texts):
        self.embedded += len(texts)
        return super().embed(texts)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    config = AppConfig.of(data=tmp_path / "data", max_file_mb=1)
    with Engine(config, embedder=Counting(), evaluator=ScriptedEvaluator(score=spread)) as made:
        yield made


def states(compared: FolderComparison) -> dict[str, FileState]:
    return {compared.name(each): each.state for each in compared.files}


def sync(engine: Engine, folder: Path, *wanted: FileState) -> list[object]:
    compared = engine.compare_folder(folder)
    chosen = compared.of(*(wanted or ("new", "changed", "moved", "unchanged")))
    return [each for each in engine.sync_files(chosen) if not isinstance(each, IngestStep)]


def found(events: list[object]) -> Counter[str]:
    return Counter(each.found if isinstance(each, DocumentRefreshed) else each.kind for each in events)


def test_changed_text_takes_the_place_of_the_old_with_its_fields(engine: Engine, folder: Path) -> None:
    sync(engine, folder)
    documents = engine.library().documents
    old = next(each for each in documents.all() if each.name == "ferry.txt")
    documents.describe(old.id, {"tags": ("river",)})
    (folder / "ferry.txt").write_text("The ferry was sold, and a tunnel is used now.")
    assert states(engine.compare_folder(folder))["ferry.txt"] == "changed"
    (event,) = sync(engine, folder)
    assert isinstance(event, DocumentRefreshed) and event.found == "replaced"
    assert event.document.earlier == (old.id,) and documents.count() == 2
    assert documents.given() == {event.document.id: {"tags": ("river",)}}
    (stale,) = engine.stale(ids=[old.id])[old.id]
    assert stale.reason == "replaced" and stale.since == event.document.added_at[:10]


def test_a_moved_file_keeps_its_document_and_is_found_by_its_new_name_without_embedding(
    engine: Engine, folder: Path
) -> None:
    (folder / "tower.txt").write_text(TOWER)
    sync(engine, folder)
    library, embedder = engine.library(), engine.embedder
    before = {each.name: each.id for each in library.documents.all()}
    library.search("anything", 1)
    embedded = embedder.embedded
    (folder / "ferry.txt").rename(folder / "below" / "zanzibar.txt")
    (event,) = sync(engine, folder)
    assert isinstance(event, DocumentRefreshed) and event.found == "moved" and "ferry.txt" in event.message
    assert library.documents.names()[before["ferry.txt"]] == "zanzibar.txt"
    assert embedder.embedded == embedded
    (chunk, *_) = library.search("zanzibar", 3)
    assert chunk.chunk.source == "zanzibar.txt"
    assert set(states(engine.compare_folder(folder)).values()) == {"unchanged"}


def test_what_is_gone_is_deleted_only_where_it_is_asked_for(engine: Engine, folder: Path) -> None:
    sync(engine, folder)
    (folder / "ferry.txt").unlink()
    assert states(engine.compare_folder(folder))["ferry.txt"] == "gone"
    assert sync(engine, folder) == [] and engine.library().documents.count() == 2
    gone = engine.compare_folder(folder).of("gone")
    (folder / "ferry.txt").write_text(FERRY)
    assert found(list(engine.sync_files(gone))) == {"unchanged": 1}, "it came back meanwhile"
    (folder / "ferry.txt").unlink()
    assert found(list(engine.sync_files(gone))) == {"removed": 1}
    assert [each.name for each in engine.library().documents.all()] == ["bridge.txt"]


def test_copies_exchanges_and_outdated_documents_are_told_apart(engine: Engine, folder: Path) -> None:
    ferry, bridge = folder / "ferry.txt", folder / "below" / "bridge.txt"
    sync(engine, folder)
    (folder / "copy.txt").write_text(FERRY)
    assert states(engine.compare_folder(folder))["copy.txt"] == "duplicate"
    ferry.unlink()
    assert states(engine.compare_folder(folder)) == {
        "copy.txt": "moved",
        os.path.join("below", "bridge.txt"): "unchanged",
    }
    (folder / "copy.txt").rename(ferry)
    ferry.write_text(BRIDGE)
    bridge.write_text(FERRY)
    assert set(states(engine.compare_folder(folder)).values()) == {"moved"}, "each holds what the other held"
    assert found(sync(engine, folder)) == {"moved": 2}
    ferry.write_text(FERRY)
    compared = engine.compare_folder(folder)
    assert {(each.state, each.document.name) for each in compared.files if each.document} == {
        *{("unchanged", "bridge.txt"), ("gone", "ferry.txt"), ("duplicate", "bridge.txt")}
    }, "the bridge's words are in no file any more"


def test_an_uploaded_document_is_followed_from_then_on_under_the_name_that_it_has(engine: Engine, folder: Path) -> None:
    list(engine.add("my ferry.txt", FERRY.encode()))
    assert states(engine.compare_folder(folder))["ferry.txt"] == "moved"
    assert found(sync(engine, folder)) == {"moved": 1, "document_added": 1}
    document = next(each for each in engine.library().documents.all() if each.path.endswith("ferry.txt"))
    assert document.name == "my ferry.txt" and document.path == str(folder / "ferry.txt")


def test_hidden_linked_and_other_files_are_skipped_and_counted(engine: Engine, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text(TOWER)
    (tmp_path / "outside").mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "loop").symlink_to(folder)
    (folder / ".hidden.txt").write_text(TOWER)
    (folder / "program.exe").write_bytes(b"MZ")
    os.mkfifo(folder / "pipe.txt")
    compared = engine.compare_folder(folder)
    assert len(compared.files) == 2
    assert compared.skipped == {"link": 2, "hidden": 1, "other kind": 2}


def test_too_large_a_file_is_named_and_its_earlier_document_stays(engine: Engine, folder: Path) -> None:
    sync(engine, folder)
    (folder / "ferry.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    assert states(engine.compare_folder(folder))["ferry.txt"] == "too large"
    assert sync(engine, folder) == [] and engine.library().documents.count() == 2


def test_a_folder_that_is_empty_or_not_there_any_more_says_so_and_nothing_counts_as_gone(
    engine: Engine, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "void").mkdir()
    assert engine.compare_folder(tmp_path / "void").files == []
    sync(engine, folder)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="Nothing counts as gone"):
        engine.compare_folder(folder)
    folder.mkdir()  # as where a drive is not mounted
    with pytest.raises(InputError, match="2 came from it"):
        engine.compare_folder(folder)
    with pytest.raises(InputError, match="can't be read"):
        engine.compare_folder(tmp_path / "elsewhere" / "ferry.txt")
    with pytest.raises(InputError, match="can't be read"):
        engine.compare_folder(Path("a\0b"))


def test_a_folder_that_is_replaced_while_it_is_read_is_refused(
    engine: Engine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(engine, folder)
    scandir = os.scandir

    def replaced(place: str | int) -> object:
        if (folder / "below").is_dir() and os.path.samestat(os.stat(place), os.stat(folder / "below")):
            folder.rename(tmp_path / "elsewhere")
            folder.mkdir()
        return scandir(place)

    monkeypatch.setattr(os, "scandir", replaced)
    with pytest.raises(InputError, match="replaced meanwhile"):
        engine.compare_folder(folder)


def test_documents_of_a_folder_below_that_can_not_be_read_are_not_gone(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(engine, folder)
    scandir = os.scandir

    def refused(place: str | int) -> object:
        if os.path.samestat(os.stat(place), os.stat(folder / "below")):
            raise PermissionError(13, "Permission denied")
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refused)
    (folder / "below" / "bridge.txt").unlink()
    compared = engine.compare_folder(folder)
    assert states(compared) == {"ferry.txt": "unchanged", "below": "unreadable"}
    assert [each.problem for each in compared.of("unreadable")] == ["Permission denied"]


def test_a_file_that_changes_while_it_is_read_is_not_added(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fstat = os.fstat

    def grown(number: int) -> os.stat_result:
        about = list(fstat(number))
        about[6] += 1
        return os.stat_result(about)

    monkeypatch.setattr(ingest_files.os, "fstat", grown)
    events = sync(engine, folder)
    monkeypatch.undo()
    assert len(events) == 2 and all(isinstance(each, DocumentFailed) for each in events)
    assert "changed while it was read" in str(events[0])
    assert found(sync(engine, folder)) == {"document_added": 2}


def test_comparing_can_be_stopped(engine: Engine, folder: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CancelledError):
        engine.compare_folder(folder, cancel=cancel)


def test_a_file_that_was_only_touched_is_unchanged_and_noted(engine: Engine, folder: Path) -> None:
    sync(engine, folder)
    os.utime(folder / "ferry.txt", ns=(1, 1))
    assert states(engine.compare_folder(folder))["ferry.txt"] == "unchanged"
    assert sync(engine, folder) == []
    assert {each.modified for each in engine.library().documents.all() if each.name == "ferry.txt"} == {1}


SECRET = "The key of the safe in the tower of Marrow lies under the third step."


@pytest.mark.parametrize("swapped", ["ferry.txt", "below", ""], ids=["file", "folder", "the folder itself"])
def test_what_became_a_link_since_it_was_compared_is_not_followed(
    engine: Engine, folder: Path, tmp_path: Path, swapped: str
) -> None:
    compared = engine.compare_folder(folder)
    outside = tmp_path / "outside"
    shutil.copytree(folder, outside)
    for file in (outside / "ferry.txt", outside / "below" / "bridge.txt"):
        file.write_text(SECRET)
    (folder / swapped).rename(tmp_path / "moved away")
    (folder / swapped).symlink_to(outside / swapped)
    ended = [each for each in engine.sync_files(compared.files) if not isinstance(each, IngestStep)]
    refused = [each for each in ended if isinstance(each, DocumentFailed)]
    assert len(refused) == (1 if swapped else 2) and len(ended) == 2
    assert all("link" in each.message or "replaced" in each.message for each in refused)
    chunks = [
        chunk.text for each in engine.library().documents.all() for chunk in engine.library().documents.chunks(each.id)
    ]
    assert SECRET not in chunks and len(chunks) == len(ended) - len(refused)


def test_a_folder_that_became_a_link_while_its_place_was_listed_is_not_looked_into(
    engine: Engine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    listed = os.scandir

    def swapping(place: object) -> object:
        found = listed(place)
        if (folder / "below").is_dir() and not (folder / "below").is_symlink():
            found = contextlib.nullcontext([*found])  # listed as a folder, and swapped before it is entered
            (folder / "below").rename(tmp_path / "moved away")
            (folder / "below").symlink_to(tmp_path / "outside")
        return found

    monkeypatch.setattr(os, "scandir", swapping)
    compared = engine.compare_folder(folder)
    assert "secret.txt" not in " ".join(states(compared))
    assert [each.path for each in compared.of("unreadable")] == [str(folder / "below")]
