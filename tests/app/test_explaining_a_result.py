"""What a run rests on, asked on the Ask page: a score, and where a page was lost."""

import re

import pytest

from crag.core.sample import load_sample
from tests.support.app_text import ask, latest, pick, said
from tests.support.eventually import eventually
from ui.app import tab
from ui.app.program import program
from ui.ask import causes

QUESTION = load_sample().questions[0].question


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """The dialogs' content on the page: a test runs the whole script at each touch, which closes a dialog."""

    def shown(session, trace):
        causes.choose(tab.runs())
        causes.panel(session, trace)

    monkeypatch.setattr(causes, "button", shown)
    monkeypatch.setattr(causes, "miss_button", causes.miss_panel)


@pytest.fixture
def asked(with_sample, app):
    app.run()
    ask(app, QUESTION)
    return app


def test_a_score_opens_into_the_words_and_sentences_that_made_it(asked):
    page = said(asked)
    assert "scores 0.79: CORRECT by itself" in page.replace("\\", "")
    (sentence,) = re.findall(r'<span class="adds" style="--share:0\.9\d" title="0\.0[^"]*">(In addition[^<]*)<', page)
    assert "4.0 percent average premium increase" in sentence
    assert 'class="takes"' in page and "The layers of the score" in page and "Closeness in meaning" in page


def test_a_click_on_a_chunk_explains_that_one(asked):
    found = latest().round.chunks[1].chunk
    assert f'data-pick="why:{found.id}"' in said(asked)
    page = said(pick(asked, f"why:{found.id}"))
    assert f"page {found.page} of {found.source}" in page.replace("\\", "") and "INCORRECT by itself" in page
    pick(asked, "why:nothing")  # what no run has is no chunk to begin with
    assert not asked.exception and "scores 0.79: CORRECT by itself" in said(asked).replace("\\", "")


# Why a page is not in the answer, asked on the Ask page


def explain(app, page=None, text=""):
    if page is not None:
        app.number_input[-1].set_value(page)
    if text:
        app.text_area[-1].set_value(text)
    next(each for each in app.button if each.label == "Explain").click().run()
    assert not app.exception
    return said(app).replace("\\", "")


def test_a_page_that_was_not_retrieved_says_its_ranks_and_the_change_that_brings_it(asked):
    page = explain(asked, page=45)
    assert (
        "was not retrieved: its best chunk ranks" in page
        and "It would have been found with “Chunks retrieved” set to" in page
    )
    runs = program().engine.library().runs
    before = len(runs.ids())
    asked.button(key="why-not-try").click().run()
    assert not asked.exception
    eventually(lambda: len(runs.ids()) == before + 1)  # asked again with the change
    assert 45 in {each.chunk.page for each in latest().rounds[0].chunks}


def test_a_page_that_does_not_exist_and_nothing_at_all_say_what_to_do(asked):
    assert "has no page 999" in explain(asked, page=999)
    assert "does not have this sentence" in explain(asked, page=1, text="Nobody ever wrote this sentence here")
