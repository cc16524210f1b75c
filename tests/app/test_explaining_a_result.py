"""What a run rests on, asked on the Ask page: a score, the run without some texts, and what would change its action."""

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
    """The dialog's content on the page: a test runs the whole script at each touch, which closes a dialog."""

    def shown(session, trace):
        causes.choose(tab.runs())
        causes.panel(session, trace)

    monkeypatch.setattr(causes, "button", shown)


@pytest.fixture
def asked(with_sample, app):
    app.run()
    ask(app, QUESTION)
    return app


def show(app, view):
    app.button_group(key="why-view").set_value(view).run()
    assert not app.exception
    return app


def test_a_score_opens_into_the_words_and_sentences_that_made_it(asked):
    page = said(asked)
    assert "scores 0.81: CORRECT by itself" in page.replace("\\", "")
    (sentence,) = re.findall(r'<span class="adds" style="--share:0\.9\d" title="0\.0[^"]*">(In addition[^<]*)<', page)
    assert "4.0 percent average premium increase" in sentence
    assert 'class="takes"' in page and "The layers of the score" in page and "Closeness in meaning" in page
    assert "The nearest text in this run with another verdict" in page


def test_a_click_on_a_chunk_explains_that_one(asked):
    found = latest().round.chunks[1].chunk
    assert f'data-pick="why:{found.id}"' in said(asked)
    page = said(pick(asked, f"why:{found.id}"))
    assert f"page {found.page} of {found.source}" in page.replace("\\", "") and "AMBIGUOUS by itself" in page
    pick(asked, "why:nothing")  # what no run has is no chunk to begin with
    assert not asked.exception and "scores 0.81: CORRECT by itself" in said(asked).replace("\\", "")


def test_what_is_left_out_changes_action_and_answer_at_once(asked):
    trace, show_view = latest(), show(asked, "Without a text")
    assert "Choose texts" in said(show_view)
    first, second = (found.chunk.id for found in trace.round.chunks[:2])
    asked.button_group(key="why-out").set_value([first]).run()
    page = said(asked)
    assert "Still CORRECT" in page and "At the same time" in page.replace("\\", "")
    asked.button_group(key="why-out").set_value([first, second]).run()
    assert "CORRECT becomes INCORRECT" in said(asked) and "searched again" in said(asked)
    asked.button_group(key="why-out").set_value([]).run()
    asked.multiselect(key="why-strips").set_value([strip.id for strip in trace.kept()]).run()
    assert "Still CORRECT" in said(asked)


def test_the_move_that_changes_the_action_is_tried_in_compare(asked):
    page = said(show(asked, "Another action")).replace("\\", "")
    assert "“Upper threshold” set to 0.9" in page and "No stored run ended in another action" in page
    before = len(program().engine.library().runs.ids())
    asked.button(key="why-try-upper").click().run()
    assert not asked.exception
    eventually(lambda: len(program().engine.library().runs.ids()) == before + 1)
    assert latest().action == "AMBIGUOUS"
