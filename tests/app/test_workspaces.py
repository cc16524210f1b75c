"""Whose library a session sees: one for all, or each browser its own, kept in the address."""

import re
import shutil

import pytest
import streamlit as st
from streamlit import config as streamlit_config

from crag.core.config import AppConfig
from crag.core.events import events_to_jsonl
from crag.export.html.pages import page
from crag.storage.private import name_of
from tests.support.app_text import said, visit
from tests.support.small_pdf import small_pdf
from ui.access import workspaces
from ui.app.program import program

TEXT = "The lighthouse of Alexandria guided ships into the harbour of the city, and was built of stone."


@pytest.fixture
def private(monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")


def key(app) -> str:
    return app.query_params["w"]


def drop(app, name="light.pdf"):
    app.file_uploader[0].set_value([(name, small_pdf(TEXT), "application/pdf")]).run()
    assert not app.exception and "Added: 1 page" in said(app)


def test_two_browsers_see_two_libraries(private):
    first, second = visit("documents"), visit("documents")
    assert key(first) != key(second) and re.fullmatch("[0-9a-f]{48}", key(first))
    drop(first)
    second.run()
    assert "The library is empty" in said(second) and "light.pdf" not in said(second)
    assert "This address is the key" in said(second)
    named = (name_of(key(first)), name_of(key(second)), "default")
    assert [program().engine.library(each).size[0] for each in named] == [1, 0, 0]


def test_the_address_opens_its_library_again(private):
    first = visit("documents")
    drop(first)
    again = visit("documents", w=key(first))
    assert key(again) == key(first) and list(again.dataframe[0].value["Document"]) == ["light.pdf"]


def test_the_key_survives_page_switches_that_drop_the_address(private):
    first = visit()
    before = key(first)
    first.switch_page("pages/documents.py")
    first.query_params.clear()
    first.run()
    assert key(first) == before


FORGED = ["default", "../default", "0" * 31, "0" * 32, "0" * 33, "G" * 32, "A" * 32, "0" * 32 + "\n"]


@pytest.mark.parametrize("forged", [*FORGED, "0" * 48, "g" * 48, ["0" * 32, "1" * 32]])
def test_a_key_that_was_not_given_out_here_is_refused(private, forged):
    visitor = visit("documents", w=forged)
    assert re.fullmatch("[0-9a-f]{48}", key(visitor)) and key(visitor) not in forged
    assert "No library has this address" in said(visitor)
    assert not (program().config.storage.data / "workspaces").exists()


def test_a_key_with_a_changed_sign_opens_nothing(private):
    owner = visit("documents")
    drop(owner)
    for place in (0, 31, 32, 47):
        digit = "1" if key(owner)[place] == "0" else "0"
        visitor = visit("documents", w=key(owner)[:place] + digit + key(owner)[place + 1 :])
        assert key(visitor) != key(owner) and "light.pdf" not in said(visitor)


def test_looking_at_every_page_stores_nothing(private):
    visitor = visit()
    for each in ("documents", "tune", "compare", "evaluate", "settings", "ask"):
        visitor.switch_page(f"pages/{each}.py").run()
        assert not visitor.exception
    assert {each.name for each in program().config.storage.data.iterdir()} == {"keys.secret", "in-use"}


def test_who_was_sent_to_a_library_is_told_and_can_leave_it(private):
    owner = visit("documents")
    assert "somebody sent you here" not in said(owner)
    drop(owner)
    sent = visit("documents", w=key(owner))
    assert "somebody sent you here" in said(sent)
    sent.button(key="own-library").click().run()
    assert key(sent) != key(owner) and "light.pdf" not in said(sent) and "somebody sent you here" not in said(sent)


def test_a_key_is_in_no_folder_record_or_export(private, caplog):
    """Not even a part of one that would be enough to guess the rest."""
    caplog.set_level("DEBUG")
    owner = visit("documents")
    drop(owner)
    owner.switch_page("pages/ask.py").run()
    owner.chat_input(key="question").set_value("What guided ships into the harbour?").run()
    library = program().engine.library(name_of(key(owner)))
    [run] = library.runs.ids()
    events = library.runs.events(run)
    exported = [events_to_jsonl(events), library.runs.trace(run).to_json(), page(library.runs.trace(run), events)]
    library.rest()
    stored = [
        file.read_bytes().decode("latin-1") for file in program().config.storage.data.rglob("*") if file.is_file()
    ]
    names = [str(file) for file in program().config.storage.data.rglob("*")]
    assert events[0].workspace == name_of(key(owner)) == library.folder.name
    for text in (*exported, *stored, *names, caplog.text):
        assert key(owner)[:16] not in text


def test_a_library_that_is_deleted_on_the_disk_is_noticed_and_begins_anew():
    visitor = visit("documents")
    drop(visitor)
    shutil.rmtree(program().config.storage.data / "workspaces" / "default")
    visitor.run()
    assert "was deleted or replaced on the disk" in said(visitor) and not visitor.exception
    visitor.run()
    assert "The library is empty" in said(visitor)
    drop(visitor)
    program().close()
    assert [each.name for each in program().engine.library().documents.all()] == ["light.pdf"]


def test_another_key_in_the_same_tab_takes_nothing_along(private):
    owner = visit("documents")
    drop(owner)
    owner.switch_page("pages/ask.py").run()
    owner.chat_input(key="question").set_value("What guided ships into the harbour?").run()
    owner.query_params.clear()
    owner.query_params["w"] = other = program().engine.private_libraries.issue()
    owner.run()
    assert key(owner) == other and "lighthouse" not in said(owner) and "run" not in owner.query_params


def test_what_concerns_everyone_is_not_any_visitors_to_change(private):
    visitor = visit("settings")
    assert visitor.selectbox(key="program-workspaces").disabled and visitor.slider(key="program-threads").disabled
    assert next(button for button in visitor.button if button.label == "Save").disabled
    assert "administrator sets each with an environment" in said(visitor)


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("127.0.0.1", False),
        ("localhost", False),
        ("::1", False),
        ("0.0.0.0", True),
        ("192.168.1.7", True),
        (None, True),
    ],
)
def test_the_servers_address_decides_unless_it_is_chosen(address, own):
    before = st.get_option("server.address")
    streamlit_config.set_option("server.address", address)
    try:
        assert workspaces.private(AppConfig()) is own
        assert workspaces.private(AppConfig.of(workspaces="private")) and not workspaces.private(
            AppConfig.of(workspaces="one")
        )
        assert workspaces.shared(AppConfig()) is workspaces.shared(AppConfig.of(workspaces="one")) is own
        assert workspaces.shared(AppConfig.of(workspaces="private"))
    finally:
        streamlit_config.set_option("server.address", before)
