"""Help under an answer that there is none: drawn inert, opened with a click, searched with exactly the query shown."""

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from crag.admin.roles import Actor
from crag.admin.workspaces import own_name
from crag.analysis.whatif.whatif import relaxing_moves
from crag.core.events import Guidance, Near
from crag.core.trace import Trace
from crag.export.html import answer, pages
from tests.support.app_text import ask, latest, pick, plain, said, visit
from tests.support.inspector import Inspector
from tests.support.tab_states import state_in
from tests.support.whole_run import NASTY, events
from ui.app.program import program
from ui.app.tab import ChoicesState, PageState
from ui.components.tab_state import ShownLibrary

QUESTION = "How many parking spaces does the agency's headquarters have?"
NOWHERE = Guidance(
    near=(Near(chunk_id=NASTY, source=NASTY, where="page 2", score=0.12, quote=NASTY),),
    query=NASTY,
    web=True,
)


def test_what_documents_say_of_themselves_is_text():
    trace = replace(Trace.from_events(events()), guidance=NOWHERE, searches=(), answer=None)
    for live in (True, False):
        seen = Inspector(answer.nearest(trace, live=live))
        assert not seen.open and "img" not in seen.tags and "script" not in seen.tags
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        assert ("button" in seen.tags) is live
        assert "Closest passage" in seen.said


def test_under_a_quoted_answer_no_passage_is_called_the_nearest():
    trace = replace(Trace.from_events(events()), guidance=NOWHERE)
    said = Inspector(answer.nearest(trace)).said
    assert "internal" in {each.origin for each in trace.answer.citations}
    assert "Closest passage" not in said


def test_a_run_without_it_draws_none_and_an_exported_page_has_no_buttons_for_it():
    trace = Trace.from_events(events())
    assert answer.nearest(trace) == ""
    page = pages.page(replace(trace, guidance=NOWHERE, searches=(), answer=None), events())
    assert 'class="guide"' in page and '<button class="pick"' not in page


def test_a_passage_that_came_near_is_opened_with_a_click(with_sample, app):
    app.run()
    trace, page = ask(app, QUESTION), said(app)
    assert trace.answer.abstained and "Closest passage" in page
    web = app.button(key="refusal-web")
    assert web.disabled and "It was searched, and nothing found there answers" in web.help.replace("\\", ""), (
        "once is enough"
    )
    pick(app, f"chunk:{trace.guidance.near[0].chunk_id}")
    assert not app.exception and len(app.image) == 1


def test_the_web_is_searched_with_the_query_that_was_shown_within_the_conversation(with_sample, app):
    app.run()
    app.selectbox(key="strategy-choice").set_value("loop").run()
    trace = ask(app, "Why did the airplane skid off the runway at Wausau?")
    assert trace.strategy == "loop" and not trace.searches and trace.guidance.web
    assert trace.guidance.query in app.button(key="refusal-web").help.replace("\\", "")
    app.button(key="refusal-web").click().run()
    other = latest()
    assert not app.exception and (other.question, other.strategy) == (trace.question, "loop")
    assert [each.query for each in other.searches] == [trace.guidance.query]
    assert {each.origin for each in other.answer.citations} == {"external"}
    assert other.conversation == trace.conversation and said(app).count('class="turn"') == 1


def test_where_there_is_no_web_a_refusal_says_how_and_leads_to_the_library(with_sample, app, monkeypatch):
    monkeypatch.setenv("CRAG_WEB", "off")
    monkeypatch.delenv("CRAG_WEB_FOLDER")
    app.run()
    ask(app, "What is the capital of Mongolia?")
    state_in(app, ChoicesState).chose_web = True  # else the sample's own pages are its web
    app.run()
    assert "Web search is off. Choose a provider in Settings" in plain(app)
    app.button(key="refusal-add").click().run()
    assert not app.exception and state_in(app, PageState).wanted == "documents"


def test_what_it_would_take_is_the_line_at_which_the_documents_are_used_and_asks_again_so(with_sample, app):
    app.run()
    app.session_state["refusal-lines"] = True
    trace = ask(app, QUESTION)
    [move] = relaxing_moves(trace)
    assert trace.action == "INCORRECT" and move.threshold == "lower" and move.after < move.before
    assert f"Lower the “too little” line from {move.before:.2f} to {move.after:.2f}" in plain(app)
    app.button(key="refusal-lower").click().run()
    other = latest()
    assert (other.question, other.action, other.conversation) == (QUESTION, "AMBIGUOUS", trace.conversation)
    assert other.settings["lower"] == move.after
    if other.guidance is not None:
        assert "No line changes that" in plain(app)


# Who can add nothing to an empty workspace learns their role, whom to ask, and what is shared with them


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
    dead = ("sample", "try-", "compare-", "tune-to", "mon-to", "eval-", "new", "strategy", "question", "gap")
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
