"""What the app does is in the audit log, without any secret; and links to the library that a key opens."""

import pytest

from crag.admin.roles import Actor
from crag.storage.private import name_of
from tests.support.app_text import said, visit
from tests.support.small_pdf import small_pdf
from ui.app.program import program

TEXT = "The lighthouse of Alexandria guided ships into the harbour of the city, and was built of stone."
SECRET = "sk-not-to-be-seen-anywhere"


def entries(**wanted):
    return list(program().engine.teams.audit.entries(**wanted))


def test_settings_are_told_from_what_to_what_and_no_secret_of_an_address():
    program().configure("owner", threads=2, llm_base_url=f"http://anna:{SECRET}@127.0.0.1:9/{SECRET}")
    found = {each.what: each.detail for each in entries(act="setting")}
    assert found["threads"] == "0 → 2" and found["llm_base_url"] == "none → http://127.0.0.1:9"
    assert SECRET not in str(entries())


def test_a_key_is_noted_when_entered_used_and_forgotten_never_its_value(caplog):
    caplog.set_level("DEBUG")
    settings = visit("settings")
    settings.segmented_control(key="models-web").set_value("tavily").run()
    settings.text_input(key="models-key-tavily").set_value(SECRET).run()
    settings.button(key="models-key-tavily-forget").click().run()
    assert not settings.exception
    assert [each.what for each in reversed(entries(act="key"))] == ["tavily entered", "tavily forgotten"]
    assert SECRET not in str(entries()) and SECRET not in caplog.text


def test_what_is_deleted_is_noted_with_who_did_it():
    tab = visit("documents")
    tab.file_uploader[0].set_value([("light.pdf", small_pdf(TEXT), "application/pdf")]).run()
    [document] = program().engine.library().documents.all()
    tab.button(key=f"delete-{document.id}").click().run()
    [entry] = entries(act="delete")
    assert (entry.who, entry.workspace, entry.what, entry.detail) == ("owner", "default", "document", "light.pdf")


def test_the_owner_of_a_key_shows_the_library_without_giving_the_key(monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    owner = visit("documents")
    key = owner.query_params["w"]
    assert "share" not in {each.key for each in visit(w=key).button}  # nothing is there to be shown yet
    owner.file_uploader[0].set_value([("light.pdf", small_pdf(TEXT), "application/pdf")]).run()
    assert "share" in {each.key for each in visit(w=key).button}
    engine = program().engine
    _, token = engine.teams.links.issue(name_of(key), 7, Actor(name="visitor", holds=name_of(key)))
    reader = visit("documents", link=token, w=engine.private_libraries.issue())
    assert list(reader.dataframe[0].value["Document"]) == ["light.pdf"]
    assert "w" not in reader.query_params and key not in said(reader) and not reader.file_uploader
    reader = visit(link=token)
    assert "Administration" not in said(reader) and "share" not in {each.key for each in reader.button}
    reader.button(key="link-leave").click().run()
    assert reader.query_params["w"] != key and "link" not in reader.query_params
    assert token not in str(entries())


@pytest.mark.parametrize("workspaces", ["one", "private"])
def test_without_sign_in_nobody_has_the_page_administration(monkeypatch, workspaces):
    monkeypatch.setenv("CRAG_WORKSPACES", workspaces)
    with pytest.raises(ValueError, match="Could not find a navigation page"):
        visit("administration")
