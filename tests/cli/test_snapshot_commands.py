"""`snapshot`, `snapshots`, `rollback`: a version is taken, compared and gone back to, and an evaluation names it."""

from pathlib import Path

import pytest

from tests.support.shell import crag
from tests.support.small_pdf import LIGHTHOUSE, small_pdf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one document, a second one beside it, and a set."""
    folder = tmp_path_factory.mktemp("versions")
    (folder / "lighthouse.pdf").write_bytes(small_pdf(*LIGHTHOUSE))
    (folder / "ferry.pdf").write_bytes(small_pdf("The ferry to Veldt Point leaves at nine every morning in summer."))
    (folder / "set.csv").write_text("id,question,answer\nlamp,How far is the lamp visible?,nineteen nautical miles\n")
    assert crag("index", folder / "lighthouse.pdf", "--library", folder / "library").code == 0
    return folder


def test_documents_go_back_and_forth(folder: Path) -> None:
    place = ("--library", folder / "library")
    taken = crag("snapshot", "v1", *place, "--json")
    assert (taken.code, taken.records[0]["name"], taken.records[0]["documents"]) == (0, "v1", 1)
    assert crag("index", folder / "ferry.pdf", *place).code == 0
    changed = crag("snapshots", "v1", *place)
    assert "ferry.pdf: added" in changed.out and "1 document changed" in changed.err
    assert crag("snapshot", *place).code == 0
    (latest, first) = crag("snapshots", *place, "--json").records
    assert first["name"] == "v1" and latest["documents"] == 2
    assert [each["kind"] for each in crag("snapshots", latest["name"], "v1", *place, "--json").records] == ["gone"]

    back = crag("rollback", "v1", *place)
    assert back.code == 0 and "1 taken out" in back.out and f"The state before it is {latest['name']}" in back.out
    assert [each["name"] for each in crag("documents", *place, "--json").records] == ["lighthouse.pdf"]
    assert "already" in crag("rollback", "v1", *place).out
    assert crag("rollback", latest["name"], *place).code == 0
    assert crag("snapshots", "--delete", latest["name"], *place).out.startswith("deleted")
