"""A conversation on the Ask page: follow-ups, what was asked in their place, changing it, and switching it off."""

import pytest

from tests.support.app_text import ask, latest, said
from tests.support.tab_states import state_in
from ui.app.tab import RunsState

FIRST = "What was hiring manager satisfaction in FY 2019?"


@pytest.fixture
def talking(with_sample, app):
    app.run()
    ask(app, FIRST)
    return app


def test_a_follow_up_says_what_was_asked_in_its_place_and_from_where(talking):
    trace = ask(talking, "And in FY 2016?")
    assert trace.meant == "What was hiring manager satisfaction in FY 2016?"
    page = said(talking)
    assert "Asked as" in page and trace.meant in page and "“hiring manager satisfaction”" in page
    assert "In context" in page, "the step stands in the path"


def test_it_can_be_asked_as_it_stands_or_in_ones_own_words(talking):
    first = ask(talking, "And in FY 2016?")
    talking.button(key="as-it-stands").click().run()
    assert (latest().meant, latest().standalone) == ("And in FY 2016?", "")
    state_in(talking, RunsState).selected = first.run_id
    talking.query_params["run"] = first.run_id
    talking.run()
    talking.text_area(key=f"worded-{first.run_id}").set_value("What was it in FY 2015?").run()
    talking.button(key="worded-ask").click().run()
    trace = latest()
    assert (trace.question, trace.meant) == ("And in FY 2016?", "What was it in FY 2015?")
    assert "In your words" in said(talking) and trace.context.after == first.context.after
