"""`index` and `documents`: files and folders in, a result line each, exit codes that a script can trust."""

import signal
import sqlite3
from pathlib import Path

import pytest

from crag.cli.indexing import _files
from crag.ingest.files import read_file
from tests.support.shell import crag, started
from tests.support.small_mail import with_files
from tests.support.small_pdf import LIGHTHOUSE, small_pdf

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture(scope="module")
def indexed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """A library made from the folder, and what was said of each file."""
    library = tmp_path_factory.mktemp("indexed")
    ran = crag("index", folder, "--library", library, "--json")
    assert ran.code == 1  # one file is no PDF
    assert "Traceback" not in ran.err
    return library, ran.records


def test_a_folder_gives_one_result_for_each_pdf_under_it_in_order(
    folder: Path, indexed: tuple[Path, list[dict[str, object]]]
) -> None:
    found = [(Path(str(record["file"])).name, record["status"]) for record in indexed[1]]
    assert found == [("lighthouse.pdf", "added"), ("not a pdf.pdf", "failed"), ("copy of it.PDF", "duplicate")]
    added, failed, duplicate = indexed[1]
    assert (added["pages"], duplicate["duplicate_of"]) == (2, "lighthouse.pdf")
    assert added["chunks"]
    assert failed["error"]
    assert failed["remedy"]


def test_every_file_gets_its_result_though_others_fail(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty.pdf").touch()
    (tmp_path / "void").mkdir()
    ran = crag(
        *("index", tmp_path / "missing.pdf", tmp_path / "empty.pdf", tmp_path / "void", "/dev/zero"),
        *(folder / "lighthouse.pdf", "--library", tmp_path / "library"),
    )
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.splitlines()] == ["failed", "failed", "failed", "failed", "added"]
    assert "Traceback" not in ran.err


def test_a_name_that_would_steer_the_terminal_is_shown_harmless(tmp_path: Path) -> None:
    evil = tmp_path / "a\x1b[31m\u202eb.pdf"
    evil.write_bytes(b"%PDF-1.4 nothing")
    ran = crag("index", evil, "--library", tmp_path / "library")
    assert ran.code == 1
    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)


def test_reading_a_library_that_is_not_there_makes_none(tmp_path: Path) -> None:
    for command in (["documents"], ["search", "a question"], ["ask", "a question"]):
        ran = crag(*command, "--library", tmp_path / "misspelt")
        assert ran.code == 1
        assert "index" in ran.err  # the remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_interrupting_ends_with_130_and_leaves_a_library_that_opens(tmp_path: Path) -> None:
    for number in range(40):
        logbook = [f"On day {day} boat {number} met {'fog rain wind hail'.split()[day % 4]}." for day in range(20)]
        (tmp_path / f"{number}.pdf").write_bytes(small_pdf(*LIGHTHOUSE, "\n".join(logbook)))
    command = ["-m", "crag", "index", tmp_path, "--library", tmp_path / "library"]
    with (tmp_path / "err").open("w+") as err, started(*command, stderr=err.fileno()) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        process.send_signal(signal.SIGINT)
        lines += process.stdout  # not by communicate, which knows nothing of lines that were read with the first
        assert process.wait(60) == 130
        err.seek(0)
        assert "Traceback" not in err.read()
    added = [line for line in lines if line.startswith("added")]
    assert 1 <= len(added) <= 40
    assert len(crag("documents", "--library", tmp_path / "library", "--json").records) == len(added)


def test_a_library_of_other_vectors_says_so_and_reindexing_mends_it(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "library"
    assert crag("index", folder / "lighthouse.pdf", "--library", place).code == 0
    with sqlite3.connect(place / "library.db") as database:
        database.execute("UPDATE meta SET value = 'another-model' WHERE key = 'model'")
    refused = crag("search", "lighthouse", "--library", place)
    assert refused.code == 1 and "another-model" in refused.err and "crag reindex" in refused.err
    (done,) = crag("reindex", "--library", place, "--json").records
    assert (done["status"], done["documents"]) == ("reindexed", 1) and done["chunks"] >= 1
    assert crag("search", "lighthouse", "--library", place).code == 0


def test_a_file_that_changed_since_it_was_read_is_named(tmp_path: Path) -> None:
    place, file = tmp_path / "library", tmp_path / "lighthouse.pdf"
    file.write_bytes(small_pdf(*LIGHTHOUSE))
    assert crag("index", file, "--library", place).code == 0
    fresh = crag("documents", "--stale", "--library", place)
    assert (fresh.code, fresh.out) == (0, "")
    file.write_bytes(small_pdf(*LIGHTHOUSE, "One page more."))
    (told,) = crag("documents", "--stale", "--library", place, "--json").records
    assert (told["path"], len(list(told["stale"]))) == (str(file), 1)  # type: ignore[call-overload]
    assert "file changed after it was read" in crag("documents", "--library", place).out
    asked = crag("ask", "When was the lighthouse of Veldt Point built?", "--library", place)
    assert "lighthouse.pdf: Its file changed" in asked.err
    assert crag("index", tmp_path / "lighthouse.pdf", "--library", place).code == 0
    still = crag("documents", "--stale", "--library", place, "--json").records
    assert [each["id"] for each in still] == [told["id"]], "the one that was read before is still there"


def test_links_below_a_folder_are_left_out_and_a_file_that_became_one_is_not_followed(tmp_path: Path) -> None:
    place = tmp_path / "papers"
    place.mkdir()
    (tmp_path / "secret.txt").write_text("secret words")
    (place / "link.txt").symlink_to(tmp_path / "secret.txt")
    (place / "plain.txt").write_text("plain words")
    [(file, folder)] = _files(place)
    assert file == place / "plain.txt" and read_file(file, 1, folder)[1] == b"plain words"
    file.unlink()
    file.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(OSError, match="it is a link now"):
        read_file(file, 1, folder)
    assert _files(place / "link.txt") == [(place / "link.txt", None)], "what a person names is read"


def test_what_is_attached_to_an_e_mail_gets_results_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "papers.eml").write_bytes(
        with_files(("berths.csv", b"Berth,Depth\nNorth,9.5 m\n"), ("a.zip", b"PK\3\4"))
    )
    (tmp_path / "plain.txt").write_text("The gate is green.")
    ran = crag("index", tmp_path / "papers.eml", tmp_path / "plain.txt", "--library", tmp_path / "library", "--json")
    assert ran.code == 0
    found = {Path(str(record["file"])).name: record for record in ran.records}
    assert set(found) == {"papers.eml", "berths.csv (attached to papers.eml)", "plain.txt"}
    assert found["papers.eml"]["warnings"] == ["Of what is attached, this is not read: a.zip (a ZIP archive)."]
