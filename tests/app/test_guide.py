"""Who can add nothing to an empty workspace learns their role, whom to ask, and what is shared with them."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from crag.admin.roles import Actor
from crag.admin.workspaces import own_name
from tests.support.app_text import said, visit
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.components.tab_state import ShownLibrary

PAGES = ("ask", "documents", "tune", "compare", "evaluate", "monitor")


def keys(tab: AppTest) -> set[str]:
    return {str(each.key) for each in (*tab.button, *tab.chat_input, *tab.selectbox, *tab.toggle)}


@pytest.mark.parametrize("page", PAGES)
def test_a_viewer_of_an_empty_workspace_is_told_whom_to_ask_and_offered_nothing_that_leads_nowhere(
    people, page
) -> None:
    tab = visit(page, "ben")
    page_said = re.sub("<[^>]+>", "", said(tab))
    assert "Your role: viewer. View-only: you can read" in page_said and "Cleo, cleo@example.org" in page_said
    assert "share one with ben@example.org" in page_said
    dead = ("sample", "compare-", "tune-to", "mon-to", "eval-", "new", "strategy", "follow-ups", "question", "gap")
    assert not [key for key in keys(tab) if key.startswith(dead)]


def test_what_is_shared_has_a_button_that_opens_it(people) -> None:
    anna = people["anna"]
    space = own_name(anna.id)
    by = Actor(name=anna.email, id=anna.id)
    program().engine.teams.spaces.share(space, "person", people["ben"].id, "viewer", by)
    tab = visit(who="ben")
    tab.button(key=f"guide-{space}").click().run()
    assert not tab.exception and state_in(tab, ShownLibrary).workspace == space


def test_admins_are_named_only_where_the_deployment_allows_it(people, monkeypatch) -> None:
    program().configure("owner", show_admins=False)
    page_said = said(visit(who="ben"))
    assert "cleo@" not in page_said.lower() and "Ask the person who gave you the address" in page_said
