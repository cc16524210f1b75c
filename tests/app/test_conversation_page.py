"""A conversation on the Ask page: follow-ups, what they follow on, and changing it."""

from dataclasses import replace

import pytest

from crag.core.trace import Trace
from tests.support.app_text import ask, latest, pick, said
from tests.support.tab_states import state_in
from tests.support.whole_run import events
from ui.app.program import program
from ui.app.tab import RunsState

FIRST = "What was hiring manager satisfaction in FY 2019?"


@pytest.fixture
def talking(with_sample, app):
    app.run()
    ask(app, FIRST)
    return app


def test_a_follow_up_says_which_question_it_follows_on(talking):
    trace = ask(talking, "And in FY 2016?")
    assert trace.meant == "And in FY 2016? (What was hiring manager satisfaction?)"
    page = said(talking)
    assert f'Follows on</span> <span class="as">{FIRST}' in page and "Asked as" not in page
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


# A conversation of many turns on Ask: few are drawn and read, more on demand; taken along as files; presented


@pytest.fixture
def long(app):
    """The page with a conversation of a hundred turns, the last one open."""
    app.run()
    start, *rest = events()
    library = program().engine.library()
    talk = library.conversations.create("A long one")
    for id in (f"turn-{number:03}" for number in range(100)):
        run = [replace(start, run_id=id, question=f"Question {id}?", conversation=talk), *rest]
        library.runs.save(Trace.from_events(run), run)
    app.query_params["conversation"] = talk
    return app


def test_a_few_turns_are_drawn_and_more_on_demand(long):
    long.run()
    page = said(long)
    assert not long.exception and page.count('class="turn"') == 6 and "Question turn-093?" in page
    assert long.button(key="turns-earlier").label == "Show earlier turns (93 more)"
    long.button(key="turns-earlier").click().run()
    assert said(long).count('class="turn"') == 56 and not long.exception


def test_the_turns_round_one_in_the_middle_are_drawn(long):
    long.run()
    pick(long, "run:turn-060")
    page = said(long)
    assert page.count('class="turn"') == 12 and "Question turn-054?" in page and "Question turn-066?" in page
    assert long.button(key="turns-later").label == "Show later turns (33 more)"


def test_a_run_is_presented_at_its_address_and_left_again(long):
    long.run()
    long.button(key="present-this").click().run()
    page = said(long)
    assert not long.exception and 'class="cx slideshow app"' in page and 'class="turn"' not in page
    assert long.query_params["present"] in ("1", ["1"])
    pick(long, "present:close")
    assert 'class="cx slideshow app"' not in said(long) and 'class="turn"' in said(long)


def test_a_presentation_of_a_run_that_is_gone_is_told(app):
    app.query_params["run"], app.query_params["present"] = "gone", "1"
    app.run()
    assert not app.exception and len(app.error) == 1


def test_a_rewording_that_is_too_long_is_refused_and_stays_in_its_box(talking):
    run = ask(talking, "And in FY 2016?").run_id
    typed = "why " * 500 + "so?"
    talking.text_area(key=f"worded-{run}").set_value(typed).run()
    talking.button(key="worded-ask").click().run()
    assert "2,003 characters; 2,000 is the limit" in said(talking).replace("\\", "") and latest().run_id == run
    assert talking.text_area(key=f"worded-{run}").value == typed
