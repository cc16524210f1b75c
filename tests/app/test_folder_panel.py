"""A folder kept in step on the Documents page: looked at, brought in, nothing deleted without a tick, owners only."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.export.html import pages
from crag.messages.documents import stale_sentences
from tests.support.app_text import pick, said, visit
from tests.support.web_pages import Site
from tests.support.web_server import Reply, serving
from ui.app.program import program

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("papers")
    (place / "=ferry.txt").write_text("The ferry over the river Veldt carries sixty people every hour.")
    (place / "bridge.txt").write_text("The bridge at Orne was built of iron in the year 1871.")
    return place


@pytest.fixture
def look(folder: Path) -> Callable[[], AppTest]:
    app = visit("documents")

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


def test_a_folder_that_is_not_there_says_so_and_keeps_what_was_typed(tmp_path: Path) -> None:
    app = visit("documents")
    app.text_input(key="folder-path").set_value(str(tmp_path / "none")).run()
    app.button(key="folder-look").click().run()
    assert not app.exception and "Nothing counts as gone" in said(app)
    assert app.text_input(key="folder-path").value == str(tmp_path / "none")


@pytest.mark.usefixtures("shared")
def test_no_folder_of_the_machine_is_named_where_others_can_reach_the_app() -> None:
    assert "folder-path" not in {each.key for each in visit("documents").text_input}


def test_a_press_after_others_can_reach_the_app_reads_nothing(
    look: Callable[[], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = look()
    monkeypatch.setattr("ui.app.session.Session.shared", True)
    app.button(key="folder-bring").click().run()
    assert not app.exception and names() == []


# Web pages on the Documents page: typed into the box, fetched again, marked, there and beside an answer


FERRY = "The ferry over the river Veldt was built in 1890 and carries sixty people."


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("CRAG_PRIVATE_ADDRESSES", "true")
    with serving(Site(ferry=Reply(kind="text/plain", body=FERRY.encode()))) as server:
        yield server


@pytest.fixture
def documents(site):
    app = visit("documents")
    app.segmented_control(key="drop-how").set_value("Web pages").run()
    assert not app.exception
    return app


def add(documents, *addresses):
    documents.text_area(key="page-addresses").set_value("\n".join(addresses))
    next(button for button in documents.button if button.label == "Fetch and add").click().run()
    assert not documents.exception


@pytest.mark.slow
def test_pages_are_added_fetched_again_and_what_is_wrong_with_them_is_marked(documents, site):
    add(documents, f"{site.address}/ferry", "", f"{site.address}/none", "ftp://example.org/x")
    assert documents.dataframe[0].value["Document"].tolist() == [f"127.0.0.1_{site.server_port} › ferry"]
    page = said(documents)
    assert "2 failed" in page and "1 added" in page and "There is no page" in page and "can't be added" in page
    [document] = program().engine.library().documents.all()
    assert document.url == f"{site.address}/ferry" and "fetched just now" in page
    trace = Trace.from_events(program().engine.ask(RunRequest("How many people does the ferry carry?", "plain-rag")))

    site.answer = Site(ferry=Reply(status=410))
    documents.button(key="documents-again").click().run()
    assert not documents.exception and "There is no page" in said(documents)
    assert "Its web page was gone" in documents.dataframe[0].value["Problems"][0]
    stale = stale_sentences(program().engine.stale())
    assert "out of date" not in pages.page(trace).lower()
    made = pages.page(trace, stale=stale)
    assert "Out of date: 127.0.0.1" in made and "Its web page was gone" in made and "tag old" in made

    site.answer = Site(ferry=Reply(kind="text/plain", body=FERRY.replace("sixty", "ninety").encode()))
    documents.button(key="documents-again").click().run()
    assert not documents.exception and "Changed: the new text" in said(documents)
    documents.query_params.clear()
    documents.query_params["run"] = trace.run_id
    documents.switch_page("pages/ask.py").run()
    assert not documents.exception
    assert "the library holds the new text" in said(documents) and "tag old" in said(documents)
    page = said(pick(documents, "cite:1"))
    assert not documents.exception and "as the run kept it" in page and "cited" in page and "sixty people" in page
