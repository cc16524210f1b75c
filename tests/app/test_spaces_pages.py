"""Workspaces in the app: who signed in lands in their own, shares it, and finds no word of another's anywhere."""

from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from crag.admin.roles import Actor
from crag.admin.workspaces import own_name
from tests.support.app_text import said, visit
from tests.support.small_pdf import small_pdf
from tests.support.tab_states import state_in
from ui.app.program import program, stop_of_removed
from ui.components.downloads import OffersState

WORD = "Zanzibarine"
TEXT = f"The {WORD} lighthouse of Alexandria guided ships into the harbour, and was built of stone."
PAGES = ("ask", "documents", "tune", "demo", "compare", "evaluate", "settings")


def test_the_choices_of_an_admin_become_those_of_new_sessions_when_kept(people, data):
    cleo = visit("settings", "cleo")
    cleo.segmented_control(key="models-writer").set_value("extractive").run()
    assert "hold for this browser session" in said(cleo)
    before = visit("settings", "anna")
    assert before.segmented_control(key="models-writer").value == "auto"
    assert "models-keep" not in {each.key for each in before.button}
    cleo.button(key="models-keep").click().run()
    assert not cleo.exception and not (data / "choices.json").exists()
    assert visit("settings", "anna").segmented_control(key="models-writer").value == "extractive"


def actor(person) -> Actor:
    return Actor(name=person.called, id=person.id, administers=person.role == "admin")


def filled(name="anna") -> AppTest:
    """Anna's workspace with a document and a run about the planted word."""
    tab = visit("documents", name)
    tab.file_uploader[0].set_value([(f"{WORD}.pdf", small_pdf(TEXT), "application/pdf")]).run()
    assert "Added: 1 page" in said(tab)
    tab.switch_page("pages/ask.py").run()
    tab.chat_input(key="question").set_value(f"What did the {WORD} lighthouse guide?").run()
    assert not tab.exception and tab.query_params["run"]
    return tab


def entries(**wanted):
    return list(program().engine.teams.audit.entries(**wanted))


def test_each_person_lands_in_a_workspace_of_their_own_and_sees_no_word_of_another_s(people):
    anna = filled()
    own, run = anna.query_params["ws"], anna.query_params["run"]
    assert own == own_name(people["anna"].id)
    for page in PAGES:
        ben = visit(page, "ben")
        assert ben.query_params["ws"] == own_name(people["ben"].id)
        assert WORD not in said(ben) and "Anna" not in said(ben)
    for address in ({"ws": own}, {"ws": own, "run": run}, {"run": run}, {"ws": [own, own]}, {"ws": "u-" + "0" * 40}):
        ben = visit(who="ben", **address)
        assert WORD not in said(ben) and "lighthouse" not in said(ben)
        assert ben.query_params["ws"] == own_name(people["ben"].id) and "run" not in ben.query_params
    refused = entries(who="ben@example.org", act="refused")
    assert refused and refused[-1].workspace == own and all(each.refused for each in refused)
    again = visit(who="anna", ws=own, run=run)
    assert WORD in said(again)


def test_a_workspace_that_is_shared_is_entered_by_its_address_until_it_is_not_shared(people):
    anna = filled()
    own, run = anna.query_params["ws"], anna.query_params["run"]
    spaces = program().engine.teams.spaces
    spaces.share(own, "person", "ben@example.org", "viewer", actor(people["anna"]))
    ben = visit(who="ben", ws=own, run=run)
    assert WORD in said(ben)
    job = program().jobs.start("run", "x", lambda cancel, emit: cancel.wait(60), workspace=own, who=people["ben"].id)
    spaces.unshare(own, "person", people["ben"].id, actor(people["anna"]))
    ben.run()
    assert WORD not in said(ben) and "lighthouse" not in said(ben)
    assert ben.query_params["ws"] == own_name(people["ben"].id)
    assert "You have no access to the workspace" in said(visit(who="ben", ws=own))
    stop_of_removed(program().engine, program().jobs)
    assert job.stopping


def test_switching_takes_nothing_along_and_the_address_comes_back(people):
    anna = filled()
    own, run = anna.query_params["ws"], anna.query_params["run"]
    other = program().engine.teams.spaces.make("Harbour", actor(people["anna"]))
    anna = visit(who="anna", ws=own, run=run)  # AppTest draws what is on every page in a tab's first run alone
    assert WORD in said(anna)
    anna.selectbox(key=f"ws-choice-{own}").set_value(other.name).run()
    assert not anna.exception
    assert anna.query_params["ws"] == other.name and "run" not in anna.query_params
    assert WORD not in said(anna)
    assert WORD not in said(visit(who="anna", ws=other.name))


def test_a_link_lets_read_and_nothing_else_until_it_ends(people):
    anna = filled()
    own, run = anna.query_params["ws"], anna.query_params["run"]
    links = program().engine.teams.links
    link, token = links.issue(own, 7, actor(people["anna"]))
    reader = visit(link=token, run=run)
    assert WORD in said(reader) and "Shared with you by Anna, to read" in said(reader)
    assert not reader.chat_input and "delete-run" not in {each.key for each in reader.button}
    reader.switch_page("pages/documents.py").run()
    assert not reader.file_uploader and f"{WORD}.pdf" in str(reader.dataframe[0].value)
    assert reader.query_params["link"] == token
    links.end(link.id, actor(people["anna"]))
    reader.run()
    assert "lets nobody in" in said(reader) and WORD not in said(reader)
    never = visit(link="A" * 43, run=run)
    assert "lets nobody in" in said(never) and WORD not in said(never)


def test_only_who_administers_has_the_page_and_what_is_done_there_is_audited(people):
    filled()
    cleo = visit("administration", "cleo")
    assert "Administration" in said(cleo) and "Anna" in str(cleo.dataframe[0].value)
    cleo.segmented_control(key="admin-view").set_value("People").run()
    assert "ben@example.org" in str(cleo.dataframe[0].value)
    cleo.text_input(key="admin-invite-0").set_value("dora@example.org").run()
    cleo.button(key="admin-invite").click().run()
    assert "dora@example.org" in str(cleo.dataframe[0].value)
    cleo.segmented_control(key="admin-view").set_value("Audit log").run()
    assert "invited as" in str(cleo.dataframe[0].value)
    assert {"log-csv", "log-json"} <= state_in(cleo, OffersState).by_key.keys()
    assert not cleo.exception


def test_of_two_admins_who_change_one_role_the_second_is_told_what_it_is_now(people, monkeypatch):
    engine = program().engine
    place = [each.id for each in engine.teams.people.all()].index(people["ben"].id)
    chosen = SimpleNamespace(selection=SimpleNamespace(rows=[place]))
    monkeypatch.setattr("ui.administration.people.st.dataframe", lambda *given, **told: chosen)
    engine.teams.people.change_role(people["anna"].id, "admin", by="owner")
    tabs = []
    for name in ("cleo", "anna"):
        tab = visit("administration", name)
        tab.segmented_control(key="admin-view").set_value("People").run()
        tabs.append(tab)
    for tab, role in zip(tabs, ("editor", "admin"), strict=True):
        tab.selectbox(key=f"admin-role-{people['ben'].id}-viewer").set_value(role).run()
    for tab in tabs:
        tab.button(key="admin-role").click().run()
        assert not tab.exception
    assert engine.teams.people.get(people["ben"].id).role == "editor"
    assert not tabs[0].toast and "is editor by now" in tabs[1].toast[0].value
