"""A folder kept in step on the Documents page: looked at, brought in, nothing deleted without a tick, owners only."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app_text import said
from ui.app.program import program

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("papers")
    (place / "=ferry.txt").write_text("The ferry over the river Veldt carries sixty people every hour.")
    (place / "bridge.txt").write_text("The bridge at Orne was built of iron in the year 1871.")
    return place


@pytest.fixture
def look(app: AppTest, folder: Path) -> Callable[[], AppTest]:
    app.run()
    app.switch_page("pages/documents.py").run()

    def looked() -> AppTest:
        app.text_input(key="folder-path").set_value(str(folder)).run()
        app.button(key="folder-look").click().run()
        assert not app.exception
        return app

    return looked


def names() -> list[str]:
    return sorted(each.name for each in program().engine.library().documents.all())


def frame(app: AppTest, alt: str) -> list[list[str]]:
    return next((each.value.values.tolist() for each in app.dataframe if each.proto.alt == alt), [])


def bring(app: AppTest) -> AppTest:
    app.button(key="folder-bring").click().run()
    assert not app.exception
    return app


def test_looking_shows_what_differs_and_pressing_brings_it_in(look: Callable[[], AppTest], folder: Path) -> None:
    app = look()
    assert [row[0] for row in frame(app, "The files that differ")] == ["'=ferry.txt", "bridge.txt"]
    assert names() == []
    page = said(bring(app))
    assert names() == ["=ferry.txt", "bridge.txt"] and page.count("Added:") == 2
    assert app.text_input(key="folder-path").value == str(folder)
    assert "in step with the folder" in said(look())


def test_what_is_gone_is_deleted_only_with_the_tick_and_is_noted(look: Callable[[], AppTest], folder: Path) -> None:
    bring(look())
    os.rename(folder / "bridge.txt", folder / "iron.txt")
    (folder / "=ferry.txt").unlink()
    app = look()
    assert [row[0] for row in frame(app, "Documents whose files are gone")] == ["'=ferry.txt"]
    assert "Moved: its document has the new path" in said(bring(app))
    assert names() == ["=ferry.txt", "iron.txt"]
    look().checkbox(key="folder-remove").check().run()
    assert "Deleted: its file is gone" in said(bring(app)) and names() == ["iron.txt"]
    [entry] = program().engine.teams.audit.entries(act="delete")
    assert (entry.who, entry.what, entry.detail) == ("owner", "document", "=ferry.txt")


def test_a_folder_that_is_not_there_says_so_and_keeps_what_was_typed(app: AppTest, tmp_path: Path) -> None:
    app.run()
    app.switch_page("pages/documents.py").run()
    app.text_input(key="folder-path").set_value(str(tmp_path / "none")).run()
    app.button(key="folder-look").click().run()
    assert not app.exception and "Nothing counts as gone" in said(app)
    assert app.text_input(key="folder-path").value == str(tmp_path / "none")


@pytest.mark.usefixtures("shared")
def test_no_folder_of_the_machine_is_named_where_others_can_reach_the_app(app: AppTest) -> None:
    app.run()
    app.switch_page("pages/documents.py").run()
    assert "folder-path" not in {each.key for each in app.text_input}


def test_a_press_after_others_can_reach_the_app_reads_nothing(
    look: Callable[[], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = look()
    monkeypatch.setattr("ui.app.session.Session.shared", True)
    app.button(key="folder-bring").click().run()
    assert not app.exception and names() == []
