"""Conversations in Ask's sidebar: listed by day, found, renamed, deleted and brought back, the same in another tab."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crag.core.trace import Trace
from crag.text import memory
from tests.support.app_text import ask, latest, pick, plain, said, visit
from tests.support.tab_states import state_in
from tests.support.whole_run import events
from ui.app import undo
from ui.app.program import program
from ui.app.tab import RunsState
from ui.ask import conversations
from ui.components.tab_state import ShownLibrary

FIRST, SECOND = "What was hiring manager satisfaction in FY 2019?", "And in FY 2016?"


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """A dialog's content on the page: a test runs the whole script at each touch, which closes a dialog."""
    monkeypatch.setattr(conversations, "manage", conversations.panel)


@pytest.fixture
def talking(with_sample, app):
    app.run()
    ask(app, FIRST)
    ask(app, SECOND)
    return app


def stored(*runs: tuple[str, str, int]) -> None:
    """Runs that ended so many days ago, each with its question."""
    start, *rest = events()
    for id, question, days in runs:
        at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        run = [replace(start, run_id=id, question=question, started_at=at), *rest]
        program().engine.library().runs.save(Trace.from_events(run), run)


def listed(app) -> list[str]:
    return [each.split("<")[0] for each in said(app).split('dir="auto">')[1:]]


def manage(app, key: str, title: str = ""):
    """A touch of the dialog over the conversation of the last run; `title`: what is typed as its name."""
    run = latest().run_id
    pick(app, f"manage:{run}")
    if title:
        app.text_input(key=f"past-name-{run}").set_value(title)
    state_in(app, RunsState).managed = run  # the dialog is open
    return app.button(key=key).click().run()


def test_a_conversation_is_one_line_with_its_first_question_and_comes_back_in_another_tab(talking):
    assert listed(talking) == [FIRST] and said(talking).count('aria-current="true"') == 1 and "Today" in said(talking)
    talk, run = talking.query_params["conversation"], talking.query_params["run"]
    other = visit(conversation=talk)
    assert other.query_params["run"] == run and said(other).count('class="turn"') == 1, "it goes on where it was"
    trace = ask(other, "And in FY 2015?")
    assert trace.meant == "And in FY 2015? (What was hiring manager satisfaction?)" and trace.conversation == talk
    assert listed(other) == [FIRST] and said(talking.run()).count('class="turn"') == 2
    assert talking.button(key="new").click().run() and "conversation" not in talking.query_params
    ask(talking, "Who led the agency?")
    assert listed(talking) == ["Who led the agency?", FIRST]
    assert pick(talking, f"run:{trace.run_id}") and talking.query_params["conversation"] == talk


def test_earlier_runs_stand_under_their_day_and_are_the_first_of_a_conversation_once_they_are_followed_on(
    with_sample, app
):
    rtl = "\u05de\u05d4\u05d5 \u05d4\u05de\u05d2\u05d3\u05dc\u05d5\u05e8?"
    stored(("old", "What is a lighthouse?", 400), ("yesterday", rtl, 1), ("today", "<b>Why?</b>", 0))
    app.run()
    page = said(app)
    assert listed(app) == ["&lt;b&gt;Why?&lt;/b&gt;", rtl, "What is a lighthouse?"]
    year = str((datetime.now(UTC) - timedelta(days=400)).year)
    assert page.index("Today</p>") < page.index("Yesterday</p>") < page.index(f" {year}</p>")
    pick(app, "run:yesterday")
    trace = ask(app, "Who led the agency?")
    assert program().engine.library().conversations.runs(trace.conversation) == ["yesterday", trace.run_id]
    assert listed(app)[0] == rtl


def test_the_list_is_bounded_and_searched(with_sample, app):
    stored(*((f"run-{number}", f"Question {number}?", 0) for number in range(70)))
    app.run()
    assert len(listed(app)) == 30
    app.button(key="past-more").click().run()
    assert len(listed(app)) == 60
    app.text_input(key="past-search").set_value("question 6").run()
    assert listed(app) == [f"Question {number}?" for number in (*range(69, 59, -1), 6)]
    app.text_input(key="past-search").set_value("nothing").run()
    assert not listed(app) and "No conversation has this" in said(app)


def test_two_tabs_rename_one_conversation_and_a_wrong_name_is_refused(talking):
    other = visit(conversation=talking.query_params["conversation"])
    manage(talking, "past-rename", "Satisfaction")
    manage(other, "past-rename", "Hiring \u05e9\u05dc\u05d5\u05dd")
    assert listed(other) == listed(talking.run()) == ["Hiring \u05e9\u05dc\u05d5\u05dd"]
    manage(talking, "past-rename", " ")
    assert "A conversation needs a name." in plain(talking) and not talking.exception
    assert listed(talking.run()) == ["Hiring \u05e9\u05dc\u05d5\u05dd"]


def test_a_deleted_conversation_is_served_nowhere_comes_back_with_undo_and_is_gone_once_that_is_over(talking):
    library, address = program().engine.library(), dict(talking.query_params)
    before = library.conversations.latest()
    manage(talking, "past-delete")
    assert not library.runs.ids() and not listed(talking) and "run" not in talking.query_params
    assert f"Deleted “{FIRST}”" in plain(talking)
    other = visit(**address)
    assert "not in this library" in said(other) and FIRST not in said(other) and not other.exception
    other = visit(conversation=address["conversation"])
    assert "The conversation in the address is not in this library" in said(other) and other.chat_input
    [name] = state_in(talking, RunsState).deleted
    talking.button(key=f"undo-delete-{name}").click().run()
    assert library.conversations.latest() == before and talking.query_params == address
    assert said(talking).count('class="turn"') == 1 and "Deleted" not in said(talking)

    manage(talking, "past-delete")
    [name] = [each for each in state_in(talking, RunsState).deleted if each in undo.deletions]
    button = talking.button(key=f"undo-delete-{name}")
    undo.deletions.pop(name)  # as the half minute's end does
    button.click().run()
    assert "It is gone for good." in talking.toast[0].value.replace("\\", "") and not library.runs.ids()
    assert "Undo" not in [each.label for each in talking.run().button]


def test_one_run_is_deleted_under_its_answer_and_comes_back(talking):
    first = program().engine.library().runs.ids()[0]
    talking.button(key="delete-run").click().run()
    assert program().engine.library().runs.ids() == [first] and not talking.exception
    [name] = state_in(talking, RunsState).deleted
    talking.button(key=f"undo-delete-{name}").click().run()
    assert latest().question == SECOND and said(talking).count('class="turn"') == 1


def test_a_viewer_renames_and_deletes_nothing(people):
    tab = visit(who="ben")
    stored_in = program().engine.library(state_in(tab, ShownLibrary).workspace)
    start, *rest = events()
    stored_in.runs.save(Trace.from_events([start, *rest]), [start, *rest])
    tab.query_params["run"] = start.run_id
    assert listed(tab.run()) and "manage:" not in said(tab)
    pick(tab, f"manage:{start.run_id}")
    if [each for each in tab.button if each.key == "past-delete"]:
        state_in(tab, RunsState).managed = start.run_id
        tab.button(key="past-delete").click().run()
    assert stored_in.runs.ids() == [start.run_id] and not tab.exception


def test_what_can_be_undone_is_held_for_half_a_minute_and_not_past_its_workspace(talking, monkeypatch):
    due = []

    class Timer:
        daemon, start = False, lambda self: None

        def __init__(self, seconds, work, given):
            due.append((seconds, lambda: work(*given)))

    monkeypatch.setattr(undo.threading, "Timer", Timer)
    talking.button(key="delete-run").click().run()
    [name] = state_in(talking, RunsState).deleted
    [(seconds, end)] = due
    assert name in undo.deletions and seconds == 30.0
    end()
    assert name not in undo.deletions
    pick(talking, f"run:{latest().run_id}")
    talking.button(key="delete-run").click().run()
    assert undo.deletions
    memory.forget(["default"])
    assert not undo.deletions
