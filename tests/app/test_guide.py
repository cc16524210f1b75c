"""Who can add nothing to an empty workspace learns their role, whom to ask, and what is shared with them."""

from __future__ import annotations

import re

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.admin.people import Identity
from crag.admin.roles import Actor
from crag.admin.workspaces import own_name
from crag.core.errors import AccessError
from tests.support.app_text import said
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.components.tab_state import ShownLibrary

PAGES = ("ask", "documents", "tune", "compare", "evaluate", "monitor")


@pytest.fixture
def people(data):
    """Anna, an editor, Ben, a viewer, and Cleo, an admin: each tab says by `as` whose it is."""
    engine, found = program().engine, {}
    for name, role in (("anna", "editor"), ("ben", "viewer"), ("cleo", "admin")):
        engine.teams.people.invite(f"{name}@example.org", role, by="owner")
        identity = Identity(issuer="http://p", subject=name, name=name.capitalize(), email=f"{name}@example.org")
        found[name] = engine.teams.people.admit(identity)
        engine.teams.spaces.own(found[name])

    def who():
        if not st.session_state.get("as"):
            raise AccessError("Nobody has signed in.", "Sign in.")
        return engine.teams.people.get(found[st.session_state["as"]].id)

    program().who = who
    return found


def visit(app, name: str, page: str = "") -> AppTest:
    tab = AppTest.from_file(app._script_path, default_timeout=60)
    tab.session_state["as"] = name
    tab.run()
    if page:
        tab.switch_page(f"pages/{page}.py").run()
    assert not tab.exception
    return tab


def keys(tab: AppTest) -> set[str]:
    return {str(each.key) for each in (*tab.button, *tab.chat_input, *tab.selectbox, *tab.toggle)}


@pytest.mark.parametrize("page", PAGES)
def test_a_viewer_of_an_empty_workspace_is_told_whom_to_ask_and_offered_nothing_that_leads_nowhere(
    app, people, page
) -> None:
    tab = visit(app, "ben", page)
    page_said = re.sub("<[^>]+>", "", said(tab))
    assert "Your role: viewer. View-only: you can read" in page_said and "Cleo, cleo@example.org" in page_said
    assert "share one with ben@example.org" in page_said
    dead = ("sample", "compare-", "tune-to", "mon-to", "eval-", "new", "strategy", "follow-ups", "question", "gap")
    assert not [key for key in keys(tab) if key.startswith(dead)]


def test_what_is_shared_has_a_button_that_opens_it(app, people) -> None:
    anna = people["anna"]
    space = own_name(anna.id)
    by = Actor(name=anna.email, id=anna.id)
    program().engine.teams.spaces.share(space, "person", people["ben"].id, "viewer", by)
    tab = visit(app, "ben")
    tab.button(key=f"guide-{space}").click().run()
    assert not tab.exception and state_in(tab, ShownLibrary).workspace == space


def test_admins_are_named_only_where_the_deployment_allows_it(app, people, monkeypatch) -> None:
    program().configure("owner", show_admins=False)
    page_said = said(visit(app, "ben"))
    assert "cleo@" not in page_said.lower() and "Ask the person who gave you the address" in page_said


def test_who_may_add_documents_is_offered_that(app, people) -> None:
    tab = visit(app, "anna")
    assert "sample" in keys(tab) and "Your role" not in said(tab)
