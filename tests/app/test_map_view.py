"""The map on the Documents page: drawn, coloured, selected from, and plain where there is little or something fails."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from crag.analysis.atlas import projection
from crag.core.filters import Scope
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.app_text import over, said
from tests.support.small_library import TEXTS, WordEmbedder, add_document
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import RunsState
from ui.documents import map_view
from ui.documents.map_view import Selection
from ui.documents.state import DocumentsState

HOSTILE = "<img src=x onerror=alert(1)>.pdf"
ALL = Selection(outlines=(((-99.0, -99.0), (99.0, -99.0), (99.0, 99.0), (-99.0, 99.0)),))


@pytest.fixture
def engine(data) -> Iterator[Engine]:
    evaluator = ScriptedEvaluator(score=lambda text: 0.9 if "hired" in text else 0.02)
    program().make = lambda config: Engine(config, embedder=WordEmbedder(), evaluator=evaluator)
    return program().engine


@pytest.fixture
def filled(engine) -> list[str]:
    return [add_document(engine, "report.pdf", TEXTS), add_document(engine, HOSTILE, TEXTS)]


def on_map(app):
    app.run()
    app.switch_page("pages/documents.py").run()
    app.segmented_control(key="documents-view").set_value("map").run()
    assert not app.exception
    return app


def figure(app) -> dict[str, Any]:
    [chart] = app.get("plotly_chart")
    return json.loads(chart.proto.spec)


def hovers(app) -> list[str]:
    """What the chunks say that are drawn."""
    chunks = [trace for trace in figure(app)["data"] if isinstance(trace.get("customdata", [""])[0], int)]
    return [said for trace in chunks for said in trace["hovertext"]]


def named(app) -> list[str]:
    return [trace["name"] for trace in figure(app)["data"] if trace.get("showlegend")]


def test_all_chunks_are_drawn_and_what_is_foreign_is_escaped(app, filled):
    shown = hovers(on_map(app))
    assert len(shown) == 8 and "8 chunks, 0 past questions" in said(app)
    assert [each for each in shown if each.startswith("<b>report.pdf</b>, p. 1<br>The agency hired")]
    assert sum(each.startswith("<b>&lt;img src=x onerror=alert(1)&gt;.pdf</b>") for each in shown) == 4
    assert not app.dataframe


def test_past_questions_are_coloured_by_their_action_and_open_from_a_list(app, filled, engine):
    run = engine.trace("How many people were hired?").run_id
    engine.trace(RunRequest("Zebra quagga okapi", "three-way"))
    assert {"● CORRECT", "gap: your documents did not answer"} <= set(named(on_map(app)))
    app.session_state["ui.documents.state.DocumentsState"].selection = Selection(clicked=(run,))
    app.run()
    app.button(key="map-open-0").click().run()
    assert state_in(app, RunsState).selected == run and not app.exception


def test_a_run_or_a_document_that_is_deleted_is_on_the_map_no_more(app, filled, engine):
    run = engine.trace("How many people were hired?").run_id
    assert "8 chunks, 1 past question." in said(on_map(app))
    engine.library().runs.delete(run)
    assert "8 chunks, 0 past questions" in said(app.run()) and not named(app)
    engine.library().documents.delete(filled[0])
    assert "4 chunks, 0 past questions" in said(app.run()) and len(hovers(app)) == 4 and not app.exception


def test_documents_have_colours_of_their_own(app, filled):
    on_map(app)
    assert not named(app)
    app.segmented_control(key="map-colour").set_value("document").run()
    assert named(app) == ["report.pdf", "&lt;img src=x onerror=alert(1)&gt;.pdf"] and not app.exception


def test_a_selection_says_what_is_in_it_and_is_asked_by_itself(app, filled):
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    assert "**Selected: 8 chunks of 2 documents**" in said(app) and "**report\\.pdf**: 4 chunks" in said(app)
    assert "p. 1: “The agency hired four hundred" in said(app)
    app.button(key="map-ask").click().run()
    assert state_in(app, RunsState).scope == Scope(tuple(filled)) and not app.exception


def test_a_selection_is_selected_in_the_list_too(app, filled):
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    app.button(key="map-list").click().run()
    assert set(state_in(app, DocumentsState).selected) == set(filled) and len(app.dataframe) == 1


def test_more_documents_than_can_be_named_are_not_asked(app, engine):
    for at in range(101):
        add_document(engine, f"{at}.pdf", TEXTS[:1])
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    assert app.button(key="map-ask").disabled and "And 93 more documents" in said(app)


@pytest.mark.parametrize("count", [1, 2])
def test_a_library_of_hardly_any_chunk_says_so(app, engine, count):
    add_document(engine, "report.pdf", TEXTS[:count])
    assert "from 3 on" in said(on_map(app)) and not app.get("plotly_chart")


def test_what_draws_charts_is_loaded_beside_the_list_of_a_large_library(app, filled, monkeypatch):
    app.run()
    app.switch_page("pages/documents.py").run()
    assert not app.get("plotly_chart")
    monkeypatch.setattr(map_view, "AT_ONCE", 4)
    assert len(app.run().get("plotly_chart")) == 1 and app.dataframe and not app.exception


def test_a_large_library_is_laid_out_by_a_job(app, filled, monkeypatch):
    monkeypatch.setattr(map_view, "AT_ONCE", 4)
    assert len(hovers(over(on_map(app)))) == 8


def test_the_map_before_is_shown_without_deleted_documents_while_a_job_makes_the_next(app, filled, monkeypatch, engine):
    on_map(app)
    monkeypatch.setattr(map_view, "AT_ONCE", 3)
    go_on, project = threading.Event(), projection.project
    monkeypatch.setattr(projection, "project", lambda library: (go_on.wait(30), project(library))[1])
    engine.library().documents.delete(filled[0])
    add_document(engine, "new.pdf", TEXTS)
    app.run()
    assert "Bringing the map up to date" in said(app) and len(hovers(app)) == 4
    go_on.set()
    assert len(hovers(over(app))) == 8


def test_a_job_that_failed_says_why_and_can_be_tried_again(app, filled, monkeypatch, engine):
    monkeypatch.setattr(map_view, "AT_ONCE", 4)
    with engine.library()._database.write() as connection:
        connection.exec_driver_sql("DELETE FROM vectors")
    over(on_map(app))
    assert app.error[0].value and app.button(key="map-again")


def test_of_many_points_an_even_part_is_drawn(app, filled, monkeypatch):
    monkeypatch.setattr("ui.documents.map_figure.DRAWN", 3)
    on_map(app)
    assert len(hovers(app)) == 3
