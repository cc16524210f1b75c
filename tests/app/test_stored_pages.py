"""Stored runs and a stored library on the pages: drawn, replayed, exported, compared, under sliders, measured."""

import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from crag.analysis import tour
from crag.analysis.evaluate import evaluations
from crag.analysis.tour import load_story
from crag.analysis.whatif.entries import Entry
from crag.core.config import AppConfig
from crag.core.events import Event
from crag.core.sample import load_sample
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.export.html import pages
from samples.record import record
from tests.support import local_models
from tests.support.app_text import over, plain, said
from tests.support.inspector import Inspector
from tests.support.stored import RUNS, stored_library, stored_run
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import RunsState
from ui.ask import welcome
from ui.compare.run_columns import Lane, heads, name_lanes


@pytest.fixture
def with_stored_library(data):
    """The app has the stored library, and its embedding model is in use."""
    return stored_library(data / "workspaces" / "default")


def test_every_run_of_a_stored_library_opens_in_ask(with_stored_library, app):
    app.run()
    runs = program().engine.library().runs.latest(9, every=True)
    assert len(runs) == 5
    for run in runs:
        app.query_params["run"] = run.run_id
        app.run()
        assert not app.exception and not app.error, run
        assert app.slider and f'<div class="question">{run.question}' in said(app)


@pytest.mark.parametrize(
    ("page", "words"), [("tune", "More sliders"), ("evaluate", "Action right"), ("documents", "report.pdf")]
)
def test_the_other_pages_show_what_a_stored_library_holds(with_stored_library, app, page, words):
    app.run()
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception and not app.error
    assert words in said(app).replace("\\", "")


def test_a_library_indexed_by_the_other_model_says_so_and_is_indexed_anew(data, app):
    stored_library(data / "workspaces" / "default", renamed=False)
    app.run()
    app.switch_page("pages/documents.py").run()
    assert not app.exception and "vectors were made by" in app.error[0].value
    next(button for button in app.button if button.label == "Re-index the whole library").click().run()
    over(app)
    assert not app.error and "Done: re-indexing" in said(app)


def of_another_build(events):
    """The run as if another build had stored it: a setting nobody knows, one out of range, a strategy that is gone."""
    started = events[0]
    settings = {**started.settings, "upper": 7, "speed": "fast", "forced": "MAYBE"}
    return [replace(started, strategy="gone-strategy", settings=settings), *events[1:]]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_another_build_is_drawn_everywhere(name):
    events = of_another_build(stored_run(name))
    trace = Trace.from_events(events)
    assert trace.question in Inspector(pages.page(trace, events)).said
    lane = Lane(run=trace.run_id, trace=trace, job=None, following=False)
    name_lanes([lane], lambda strategy, settings: strategy)
    assert "another version" in heads([lane]) and "speed" in heads([lane]) and "gone-strategy" in heads([lane])
    assert Entry.of(trace).settings.upper == Settings().upper


def test_a_run_of_another_build_opens_in_ask_and_compare(with_stored_library, app):
    app.run()
    library = program().engine.library()
    runs = [run.run_id for run in library.runs.latest(9, every=True)]
    for run in runs:
        events = of_another_build(library.runs.events(run))
        library.runs.save(Trace.from_events(events), events)
    app.query_params["run"] = runs[-1]
    app.run()
    assert not app.exception and not app.error
    lost = said(app).replace("\\", "")
    assert "Not known here and left out: speed." in lost and "at their default: Upper threshold, Forced action." in lost
    state_in(app, RunsState).lines = (runs[-1], 0.3, 1.0)
    app.run()
    assert not app.exception and "would become" in said(app) and app.button(key="tune-use").disabled
    app.button(key="compare-this").click().run()
    app.query_params["runs"] = ",".join(runs[-2:])
    app.switch_page("pages/compare.py").run()
    assert not app.exception and not app.error and said(app).count("another version's settings") >= 2
    app.switch_page("pages/tune.py").run()
    assert not app.exception and not app.error and "can't be read" not in said(app)


def test_an_unfinished_evaluation_of_another_build_is_shown_and_says_why_it_cannot_go_on(with_stored_library, app):
    with closing(sqlite3.connect(with_stored_library / "library.db")) as connection, connection:
        connection.execute(
            "UPDATE evaluations SET strategy = 'gone-strategy', finished_at = '', "
            "settings = json_set(settings, '$.speed', 1, '$.upper', 7)"
        )
    app.run()
    app.switch_page("pages/evaluate.py").run()
    assert not app.exception and not app.error
    assert "gone-strategy" in said(app).replace("\\", "")
    resume = next(button for button in app.button if button.label == "Resume")
    assert "speed" in resume.help and "Upper threshold" in resume.help
    resume.click().run()
    assert "can't continue" in plain(over(app))
    [made] = evaluations(program().engine.library())
    assert (made.strategy, made.done) == ("gone-strategy", 1), "nothing of it is lost"


# The recorded run of the first page: it folds and draws today, and is what the sample gives today


@pytest.fixture
def events() -> list[Event]:
    return load_story("ambiguous")


def test_it_shows_the_steps_in_order_with_nothing_to_click(events):
    drawn = welcome.draw_states(events)
    assert re.findall(r'class="step">(\w+)<', drawn) == [
        *("Question", "Evaluate", "Action", "Refine", "Search", "Answer")
    ]
    done = [state.count('<li class="done"') for state in drawn.split('style="--at:')[1:]]
    assert done == sorted(done) and done[0] == 0 and done[-1] > done[1] > 0
    assert "<button" not in drawn and "data-pick" not in drawn and "<script" not in drawn


@pytest.mark.slow
def test_stories_are_what_the_sample_gives_today(sample_data, tmp_path):
    shutil.copytree(sample_data, tmp_path, dirs_exist_ok=True)
    with local_models.engine(AppConfig.of(data=tmp_path, web="folder", web_folder=load_sample().web)) as engine:
        remedy = "run python -m samples.record"
        for name, events in record(engine):
            kept, now = Trace.from_events(load_story(name)), Trace.from_events(events)
            assert (kept.question, kept.settings, kept.action) == (now.question, now.settings, now.action), remedy
            assert kept.answer.text == now.answer.text, remedy
            assert [each.text for each in kept.kept()] == [each.text for each in now.kept()], remedy
            scores = [[round(each.score, 2) for each in run.round.grades.values()] for run in (kept, now)]
            assert scores[0] == scores[1], remedy


@pytest.mark.parametrize("damaged", [None, "no json", '{"kind": "graded"}'])
def test_without_a_recording_that_can_be_read_the_page_goes_without(app, monkeypatch, tmp_path, damaged):
    if damaged is not None:
        (tmp_path / "ambiguous.jsonl").write_text(damaged)
    monkeypatch.setattr(tour, "STORIES", tmp_path)
    app.run()
    assert not app.exception and "A recorded run" not in said(app) and app.button(key="try-0")
