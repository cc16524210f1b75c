"""Why a page is not in the answer, asked on the Ask page."""

import pytest

from crag.core.sample import load_sample
from tests.support.app_text import said
from tests.support.eventually import eventually
from ui.app.program import program
from ui.ask import misses

QUESTION = load_sample().questions[0].question


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """The dialog's content on the page: a test runs the whole script at each touch, which closes a dialog."""
    monkeypatch.setattr(misses, "button", misses.panel)


def ask(app):
    app.run()
    app.chat_input(key="question").set_value(QUESTION).run()
    assert not app.exception
    return app


def explain(app, page=None, text=""):
    if page is not None:
        app.number_input[-1].set_value(page)
    if text:
        app.text_area[-1].set_value(text)
    next(each for each in app.button if each.label == "Explain").click().run()
    assert not app.exception
    return said(app).replace("\\", "")


def test_a_page_that_was_not_retrieved_says_its_ranks_and_the_change_that_brings_it(with_sample, app):
    page = explain(ask(app), page=45)
    assert (
        "was not retrieved: its best chunk ranks" in page
        and "It would have been found with “Chunks retrieved” set to" in page
    )
    runs = program().engine.library().runs
    before = len(runs.ids())
    app.button(key="why-not-try").click().run()
    assert not app.exception
    eventually(lambda: len(runs.ids()) == before + 1)  # asked again with the change
    latest = runs.trace(runs.latest(1)[0].run_id)
    assert 45 in {each.chunk.page for each in latest.rounds[0].chunks}


def test_a_page_that_does_not_exist_and_nothing_at_all_say_what_to_do(with_sample, app):
    assert "has no page 999" in explain(ask(app), page=999)
    assert "does not have this sentence" in explain(app, page=1, text="Nobody ever wrote this sentence here")
