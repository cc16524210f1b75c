"""A query waits for its person's word: the card, the buttons, and what becomes of a yes, a no and a Stop."""

import threading
from collections.abc import Callable

import pytest

from crag.core import events as ev
from crag.core.trace import Trace
from crag.export.html.marks import approval_card, pending_question
from crag.runtime.jobs import Job
from crag.testing.fakes import FixedWeb
from tests.support import local_models
from tests.support.app_text import latest, said
from tests.support.inspector import Inspector
from tests.support.whole_run import NASTY, asked_outside
from ui.app.program import program


@pytest.fixture
def web(with_sample, monkeypatch) -> FixedWeb:
    """A web that queries would leave for, in an app that asks before they do."""
    monkeypatch.setenv("CRAG_ASK_BEFORE_WEB", "true")
    found = FixedWeb(texts=("The airplane skidded because the runway at Wausau was icy.",), name="tavily", leaves=True)
    program().make = lambda config: local_models.engine(config, web=found)
    return found


def asked(app, act: Callable[[Job], None]):
    """The page after a question that needs the web, when `act` was done in another tab as soon as the run waits."""
    jobs = program().jobs
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            for job in jobs.running("run"):
                if any(event.kind == "approval_asked" for event in job.events()):
                    act(job)
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    app.run()
    watcher.start()
    app.chat_input(key="question").set_value(program().engine.sample().questions[2].question).run()
    over.set()
    watcher.join(10)
    assert not app.exception
    return app


def test_a_yes_sends_exactly_the_query_that_was_shown(web, app):
    page = said(asked(app, lambda job: job.answer(1, True)))
    trace = latest()
    assert [each.approved for each in trace.approvals] == [True]
    assert web.queries == [trace.approvals[0].query]
    assert "You approved this query." in page and trace.approvals[0].query in page
    assert "May this query leave" not in page and not [b for b in app.button if b.label == "Send it"]


def test_a_no_sends_nothing_and_the_run_goes_on(web, app):
    page = said(asked(app, lambda job: job.answer(1, False)))
    assert not web.queries and latest().answer is not None
    assert "The web was not searched: you did not approve the query." in page
    assert "Not approved, so nothing was sent." in page and "not approved" in page
    assert "worked around" not in page, "a no is no fault"


def test_stop_while_it_waits_sends_nothing(web, app):
    page = said(asked(app, lambda job: job.stop()))
    assert not web.queries and latest().cancelled and "Stopped." in page
    assert "The run ended before you answered, so nothing was sent." in page


def test_the_card_shows_the_exact_query_and_to_whom_it_would_go():
    seen = Inspector(approval_card(Trace.from_events(asked_outside())))
    assert not seen.open and "img" not in seen.tags and f"bridge opened {NASTY}" in seen.said
    assert "May this query leave this machine?" in seen.said and "It would go to Tavily" in seen.said
    sending = approval_card(Trace.from_events(asked_outside()), sending=True)
    assert "May this query" not in sending and "bridge opened" in sending


def test_questions_are_numbered_so_that_a_late_click_answers_no_later_one():
    again = ev.ApprovalAsked(query="the same", provider="duckduckgo", at=6.0)
    trace = Trace.from_events([*asked_outside(), ev.ApprovalGiven(approved=False, at=5.0), again])
    assert pending_question(Trace.from_events(asked_outside())) == 1 and pending_question(trace) == 2
    assert "DuckDuckGo" in approval_card(trace)
