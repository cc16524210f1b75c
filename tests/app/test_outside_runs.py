"""Runs that came through agents and other programs, on the pages: in the history, opened, followed on, asked again."""

from dataclasses import replace

import pytest

from crag.core.protocols import RunRequest
from crag.core.sample import load_sample
from crag.core.trace import Trace
from crag.core.types import Action
from crag.export.html import pages, path
from crag.testing.fakes import FixedRetriever, chunk_of
from tests.support.app_text import latest, pick, said, select
from tests.support.tab_states import state_in
from tests.support.whole_run import NASTY, events
from ui.app.program import program
from ui.app.tab import RunsState

QUESTION = load_sample().questions[0].question
STORE = FixedRetriever(
    chunks=[replace(chunk_of("Hiring took 60 days in 2019.", name="Staffing wiki"), page=0), chunk_of("Unrelated.")]
)


@pytest.fixture
def handed(with_sample, app) -> Trace:
    """A run that an agent of a hostile name was handed the evidence of; the app is open on its history."""
    app.run()
    return program().engine.trace(RunRequest(QUESTION, wanted="evidence", via="agent", client=NASTY))


def test_a_run_of_an_agent_stands_in_the_history(handed, app):
    app.run()
    assert not app.exception and f'data-pick="run:{handed.run_id}"' in said(app)
    assert ', through an agent"' in said(app) and '<span class="tag">agent</span>' in said(app)


def test_its_evidence_is_shown_in_place_of_an_answer_and_the_question_can_be_asked_here(handed, app):
    app.run()
    page = said(pick(app, f"run:{handed.run_id}"))
    assert not app.exception and "through an agent (calls itself “&lt;img" in page
    assert "The evidence was handed to the agent that asked, which writes the answer itself." in page
    assert "Handed over" in page and "without an answer" not in page and "handed over</span>" in page
    shown = [chunk for chunk in handed.sources if f'data-pick="chunk:{chunk}"><span class="n num">' in page]
    assert shown == list(dict.fromkeys(strip.source_id for strip in handed.kept()))
    pick(app, f"chunk:{shown[0]}")
    assert not app.exception and len(app.image) == 1
    app.button(key="answer-here").click().run()
    again = latest()
    assert (again.via, again.wanted, again.question) == ("app", "answer", QUESTION) and again.answer
    assert "Handed over" in said(app), "the turn before, in the conversation"


def test_it_is_presented_compared_and_tuned_like_any_other(handed, app):
    own = program().engine.trace(RunRequest(QUESTION, via="app"))
    app.query_params["run"], app.query_params["present"] = handed.run_id, "1"
    app.run()
    assert not app.exception and "Hand over" in said(app)
    app.query_params.clear()
    app.query_params["runs"] = f"{own.run_id},{handed.run_id}"
    app.switch_page("pages/compare.py").run()
    page = said(app)
    assert not app.exception and "returned the evidence alone" in page
    assert "gives no answer" not in page and '<span class="tag" title="through an agent (calls' in page
    app.switch_page("pages/tune.py").run()
    assert not app.exception and "Asked through an agent (1)" in app.selectbox(key="tune-runs").options
    app.selectbox(key="tune-runs").set_value("via:agent").run()
    place = [*Action].index(handed.action)
    select(app, "tune-cell", place, str(handed.action))
    listed = app.dataframe[1].value.to_string()
    assert not app.exception and "just now" in listed and "through an agent" in listed


def test_a_run_over_another_store_says_so_and_nothing_of_it_is_called_deleted(with_sample, app):
    run = program().engine.trace(RunRequest("How long did hiring take in 2019?", retriever=STORE, via="python"))
    app.query_params["run"] = run.run_id
    app.run()
    page = said(app)
    assert not app.exception and not app.error and "From another store" in page and "from another store." in page
    assert "can't be searched again from here" in page
    assert 'data-pick="label:' not in page and "out of date" not in page
    state_in(app, RunsState).opened = "cite:1"
    app.run()
    assert not app.exception and "This text is from another store. It is shown as the run kept it." in said(app)
    state_in(app, RunsState).lines = (run.run_id, 0.1, 0.2)
    app.run()
    assert not app.exception and not app.error and "What if" in said(app)


def test_every_moment_of_it_is_exported_well_formed():
    told = [replace(event, wanted="evidence", via="mcp", client=NASTY) for event in events()[:1]]
    told += [event for event in events()[1:] if event.kind not in ("answered", "verified", "token")]
    trace = Trace.from_events(told)
    page = pages.page(trace, told)
    assert NASTY not in page and "handed to the program that asked through MCP" in page and "Handed over" in page
    assert "Verify" not in path.path(trace) and "Working on it" in "".join(pages.sections(Trace.from_events(told[:3])))
