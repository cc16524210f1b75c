"""`copy`: libraries from folder to database and back, counted, with an exit code that a script can trust."""

import shutil
from pathlib import Path

import pytest

from tests.support.milvus_server import free_port
from tests.support.postgres_server import PASSWORD
from tests.support.shell import crag


@pytest.fixture
def data(library: Path, tmp_path: Path) -> Path:
    """A data folder with two libraries that hold the sample's PDF."""
    for name in ("default", "second"):
        shutil.copytree(library, tmp_path / "data" / "workspaces" / name)
    (tmp_path / "data" / "keys.secret").write_bytes(b"0" * 32)
    return tmp_path / "data"


@pytest.mark.slow
def test_all_libraries_go_to_a_database_and_back_with_what_belongs_to_none(
    data: Path, database: str, tmp_path: Path
) -> None:
    ran = crag("copy", "--from", data, "--to", "database", "--all", "--json", CRAG_DATABASE_URL=database)
    assert ran.code == 0, ran.err
    kept, *libraries = ran.records
    assert kept == {"kept": {"keys.secret": "copied"}}
    assert [(each["workspace"], each["status"], each.get("index")) for each in libraries] == [
        ("default", "copied", None),
        ("second", "copied", None),
    ]
    counts = {each["table"]: (each["source"], each["target"]) for each in libraries[0]["tables"]}
    assert counts["documents"] == counts["files"] == (1, 1) and counts["chunks"] == counts["vectors"]
    assert len(crag("documents", "--json", CRAG_DATA=str(tmp_path / "app"), CRAG_DATABASE_URL=database).records) == 1
    back = crag("copy", "--from", "env:OTHER", "--to", tmp_path / "back", "--all", OTHER=database)
    assert back.code == 0, back.err
    assert "second: copied" in back.out and back.out.count("index: fits the records") == 2
    assert (tmp_path / "back" / "keys.secret").read_bytes() == b"0" * 32
    found = crag("search", "retirement", "--library", tmp_path / "back" / "workspaces" / "second", "--json")
    assert found.records
    again = crag("copy", "--from", "env:OTHER", "--to", tmp_path / "back", "--all", OTHER=database)
    assert again.code == 0 and "default: compared" in again.out
    assert PASSWORD not in ran.out + ran.err + back.out + back.err


def test_a_copy_whose_index_fails_is_there_and_its_index_is_filled_by_the_next_try(
    library: Path, tmp_path: Path
) -> None:
    ran = crag(
        *("copy", "--from", library, "--to", tmp_path / "copy", "--index", "milvus", "--json"),
        CRAG_MILVUS_URI=f"http://127.0.0.1:{free_port()}",
    )
    assert ran.code == 1 and ran.records[0]["status"] == "failed" and "Milvus" in ran.records[0]["error"]
    assert all(each["same"] for each in ran.records[0]["tables"])
    ran = crag("copy", "--from", library, "--to", tmp_path / "copy", "--json")
    assert (ran.code, ran.records[0]["status"], ran.records[0]["index"]) == (
        0,
        "compared",
        {"missing": 0, "foreign": 0},
    )


def test_one_that_is_refused_fails_and_keeps_no_other_from_its_turn(library: Path, data: Path, tmp_path: Path) -> None:
    shutil.copytree(library, tmp_path / "target" / "workspaces" / "default")
    ran = crag("copy", "--from", data, "--to", tmp_path / "target", "--all", "--json")
    assert ran.code == 1 and "Traceback" not in ran.err
    assert [each["status"] for each in ran.records[1:]] == ["failed", "copied"]
    ran = crag("copy", "--from", data, "--to", tmp_path / "target")
    assert ran.code == 1 and "no copy of this one" in ran.err


def test_a_copy_that_was_changed_since_is_said_to_differ(library: Path, tmp_path: Path) -> None:
    assert crag("copy", "--from", library, "--to", tmp_path / "copy").code == 0
    document = crag("documents", "--library", tmp_path / "copy", "--json").records[0]["name"]
    assert crag("tag", document, "verified=true", "--library", tmp_path / "copy").code == 0
    ran = crag("copy", "--from", library, "--to", tmp_path / "copy")
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.splitlines() if line.endswith("  differs")] == [
        *("changes", "documents", "meta")
    ]
